"""Write the generated parts of pages in docs/.

The options and the errors are from the code. The effects of options are from bench/results. The figures of a load are
from the command that computes them.

Run the script as `python scripts/generate_docs.py`. With `--check`, it writes nothing, and exits with 1 if a page would
change.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Pages need only the names that modules import from the kernel, and not its functions. So no kernel must be compiled.
if find_spec("pyspark_pulsar._kernel") is None:
    from sphinx.ext.autodoc.mock import MockFinder

    sys.meta_path.insert(0, MockFinder(["pyspark_pulsar._kernel"]))

from pyspark_pulsar import errors
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.options import (
    ConnectionOptions,
    OptionField,
    ProtobufOptions,
    ReadOptions,
    SecurityOptions,
    WriteOptions,
    option_fields,
)
from pyspark_pulsar.options.bookies import BookieOptions
from pyspark_pulsar.options.parsers import duration
from pyspark_pulsar.options.producer import ProducerOptions
from pyspark_pulsar.options.segments import SegmentOptions
from pyspark_pulsar.options.triggers import TriggerOptions
from pyspark_pulsar.tools.cli.commands.size import format_quantity
from pyspark_pulsar.tools.sizing.costs import default_costs
from pyspark_pulsar.tools.sizing.estimate import Estimate, estimate
from pyspark_pulsar.tools.sizing.quantity import Quantity
from pyspark_pulsar.tools.sizing.workload import Workload

ROOT = Path(__file__).resolve().parent.parent

_NOTICE = "<!-- Written by scripts/generate_docs.py (`make docs`). Change the code, not this page. -->"

_OPTIONS_HEAD = """\
# Options

Set each option as a string: `.option("startingOffsets", "earliest")`. Names are not case-sensitive. The driver
checks all options before it connects. An unknown or malformed option, or an option set under two names, raises
`OptionError`, with a suggestion for a misspelled name. Spark handles its own options, such as `checkpointLocation`.
"""

_ERRORS_HEAD = """\
# Errors

Every error that this package raises on purpose is a `pyspark_pulsar.PulsarError`. A message contains the failure, what
was expected and found, the place (topic, ledger, entry), and what to do. The driver finds most wrong calls
before a task starts.

Spark wraps an error of a Python data source in its own exception. The message of that exception contains the name and
the text of the error. `except` catches Spark's class.

## Where an error is shown

Spark prints an error of a Python data source below the frames of its own files and this package's files. This package
omits these frames, because its errors are complete without them.

| Where | What is shown |
|---|---|
| A session made with `pyspark_pulsar.configure` (unless `error_hook=False`), in a program or a \
notebook | The message first and last. The lines of your own program are between. This includes values that \
fail when a cell shows them, such as a DataFrame over Spark Connect. |
| Any other session, after `pyspark_pulsar.install_error_hook()` | The same. In IPython and Jupyter \
`%load_ext pyspark_pulsar` does it too. |
| Any other session | The frames of your program and of PySpark. Spark's text with the message follows, without the \
frames of the task. |
| `str(error)` | Spark's text with the message. |

A hook that another program has set, `sys.excepthook` or IPython's, stays in use. Errors of other packages are shown
with all frames.

To see the frames too, set the environment variable `PYSPARK_PULSAR_TRACEBACK=1` before the session starts. For tasks on
other machines, set `spark.executorEnv.PYSPARK_PULSAR_TRACEBACK=1`.

## All errors
"""

_OPTIONS_END = """\
## Where to go next

- [Reading](reading.md), [streaming](streaming.md) and [writing](writing.md): how the options work together
- [Security](security.md): authentication and TLS
- [Errors](errors.md): the error of a wrong option
"""

_ERRORS_END = """\

## Where to go next

- [Troubleshooting](troubleshooting.md): from the symptom to the remedy
- [Failures and recovery](failures.md): the reaction of the package to each failure
- [Delivery guarantees](guarantees.md): the guarantees after an error
- [Options](options.md): options that decide what is an error
"""


def pages() -> dict[Path, str]:
    """Return the text of each generated page, by the path of the page."""
    docs = ROOT / "docs"
    return {
        docs / "options.md": options_page(),
        docs / "errors.md": errors_page(),
        docs / "sizing.md": sizing_page((docs / "sizing.md").read_text()),
        docs / "tuning.md": tuning_page((docs / "tuning.md").read_text()),
    }


def options_page() -> str:
    """Return the page of all options. Each option has a heading, and so an anchor."""
    lines = [_NOTICE, _OPTIONS_HEAD]
    for title, scope, bases in _OPTION_SECTIONS:
        inherited = {name for base in bases for name in option_fields(base)}
        lines += [f"## {title}", ""]
        for field in fields(scope):
            if field.name not in inherited:
                lines += _option_lines(option_fields(scope)[field.name], field.default)
    return "\n".join([*lines, _OPTIONS_END])


_OPTION_SECTIONS: list[tuple[str, type[SecurityOptions], list[type[SecurityOptions]]]] = [
    ("Connection: reading and writing", ConnectionOptions, [SecurityOptions]),
    ("Security: reading and writing", SecurityOptions, []),
    ("Protobuf descriptors: reading and writing", ProtobufOptions, [ConnectionOptions]),
    ("Reading", ReadOptions, [ProtobufOptions, TriggerOptions, SegmentOptions]),
    ("Reading: limits of micro-batches", TriggerOptions, [ConnectionOptions]),
    ("Reading: times, splits and locations", SegmentOptions, [BookieOptions]),
    ("Reading: connections to bookies", BookieOptions, [ConnectionOptions]),
    ("Writing", WriteOptions, [ProducerOptions]),
    ("Writing: producers", ProducerOptions, [ProtobufOptions]),
]
"""Titles of sections, the class whose options each shows, and classes whose options it leaves to other sections."""


def _option_lines(option: OptionField, default: object) -> Iterator[str]:
    yield f"### `{option.key}`"
    yield ""
    yield option.doc
    yield ""
    yield f"- Value: {_accepted(option)}"
    yield f"- Default: {_default(option, default)}"
    if option.aliases:
        yield f"- Other names: {', '.join(f'`{alias}`' for alias in option.aliases)}"
    yield ""


def _default(option: OptionField, value: object) -> str:
    """Return the default in words, or in the form in which a user would write it."""
    if value is MISSING:
        return "none; you must set the option"
    if option.unset:
        return option.unset
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`{_in_words(option, value) if isinstance(value, int) else ''}"


_TIMES = {86_400_000: "days", 3_600_000: "hours", 60_000: "minutes", 1_000: "seconds"}
_SIZES = {2**30: "GiB", 2**20: "MiB", 2**10: "KiB"}


def _in_words(option: OptionField, value: int) -> str:
    """Return a time or size in the largest unit that divides it, in brackets; an empty text for other numbers."""
    is_time = option.key.endswith("Ms") or option.parse is duration
    units = _TIMES if is_time else _SIZES if "Bytes" in option.key else {}
    unit = next((unit for unit in units if value and value % unit == 0), None)
    return "" if unit is None else f" ({value // unit} {units[unit]})"


_CLASS = re.compile(r"org\.apache\.[\w.]+ \((\w+)\)")
_EXAMPLE = re.compile(r"(?<=such as ).+?(?=$|; )")
_CHOICE = re.compile(r"(?<=^one of ).+|^\w+$|^true or false$|^\w+ or org\.apache\.[\w.]+$")
_ADDRESS = re.compile(r"(?<![\w`])[a-z+]+[0-9]?://[^\s,`)]*")
_LARGE_NUMBER = re.compile(r"(?<![\w:])(?<!ISO )\d{4,}\b")


def _accepted(option: OptionField) -> str:
    """Return the description of accepted values from the parser's error for an empty text, with examples as code."""
    try:
        option.parse("")
    except ValueError as expected:
        text = _CLASS.sub(r"\1", str(expected))
    else:
        return "any text"
    text = _CHOICE.sub(lambda found: re.sub(r"(?!or\b)\b[\w.-]+", r"`\g<0>`", found[0]), text)
    text = _EXAMPLE.sub(r"`\g<0>`", text)
    head, mark, rest = text.partition("`")
    head = _ADDRESS.sub(r"`\g<0>`", _LARGE_NUMBER.sub(lambda found: f"{int(found[0]):,}", head))
    return head + mark + rest


def errors_page() -> str:
    lines = [_NOTICE, _ERRORS_HEAD, "| Error | Is a | Meaning |", "|---|---|---|"]
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, PulsarError):
            bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
            lines.append(f"| `{name}` | {bases} | {_cell(inspect.getdoc(kind) or '')} |")
    return "\n".join([*lines, _ERRORS_END])


_KNOBS = re.compile(r"(?<=<!-- knobs -->\n).*?(?=<!-- /knobs -->)", re.DOTALL)
_LOADED = 1.0
"""The load of other work on the machine, before the run, above which the page warns the reader."""


def tuning_page(page: str) -> str:
    """Return the page with the table of bench/results/knobs.json between its marks."""
    report = json.loads((ROOT / "bench" / "results" / "knobs.json").read_text())
    lines = [
        _knobs_head(report),
        "",
        "| Option | Value | Time | CPU, Spark | CPU, Pulsar | |",
        "|---|---|---|---|---|---|",
    ]
    for measured in report["knobs"]:
        lines += list(_knob_rows(measured))
    return _KNOBS.sub(lambda _: "\n".join([*lines, ""]), page, count=1)


def _knobs_head(report: dict[str, Any]) -> str:
    head = (
        f"Medians of {report['repeat']} of `{report['command']}`: {report['rows']:,} rows of 10 columns, Avro, LZ4, "
        f"entries of up to 1000 rows, one topic partition; {report['machine']}. The first value is the default if "
        f"there is one. The ratio to the first time is in parentheses."
    )
    if report["load_before"] < _LOADED:
        return head
    return (
        f"{head} **The machine did other work too (load {report['load_before']}): trust only large ratios.**"
    )


def _knob_rows(measured: dict[str, Any]) -> Iterator[str]:
    name = f"`{measured['knob']}`" + (f", {measured['case']}" if measured["case"] else "")
    values = measured["values"]
    first = next(iter(values.values()))["seconds"]
    for value, got in values.items():
        ratio = "" if got["seconds"] == first else f" ({got['seconds'] / first:.2f}x)"
        stored = f"{got['bytes'] / 2**20:.1f} MiB stored" if "bytes" in got else ""
        times = [f"{got['seconds']:.2f} s{ratio}", f"{got['cpu']:.1f} s", f"{got['server_cpu']:.1f} s"]
        yield f"| {' | '.join([name, f'`{value}`', *times, stored])} |"
        name = ""


_SIZED = re.compile(
    r"(<!-- (?P<block>case|variants|planning|costs) -->\n).*?(<!-- /(?P=block) -->)", re.DOTALL
)
_CASE: dict[str, Any] = {
    "topics": 3000,
    "messages_a_day": 6e9,
    "message_bytes": 500,
    "days": 365,
    "in_object_storage": 0.9,
    "catch_up_hours": 240,
    "split_bytes": 2**30,
    "trigger_seconds": 60,
}
"""The load in `docs/sizing.md`, as the command's options; a test compares both."""
_VARIANTS: dict[str, dict[str, Any]] = {
    "as above": {},
    "micro-batches of 10 s": {"trigger_seconds": 10},
    "entries of one message": {"entry_messages": 1},
    "entries of 1000 messages": {"entry_messages": 1000},
    "a year in 48 hours": {"catch_up_hours": 48},
    "a week on bookies, in 12 hours": {"days": 7, "in_object_storage": 0, "catch_up_hours": 12},
    "a year, 99 % in columns": {"in_object_storage": 0, "in_columns": 0.99},
    "ledgers of a day": {"ledger_hours": 24},
    "30,000 topics": {"topics": 30_000},
}
_COMPARED = (
    "executors to keep up", "largest lag", "executors to catch up", "time to catch up", "time to plan",
    "memory of the driver's Python", "checkpoint's offsets",
)  # fmt: skip


def sizing_page(page: str) -> str:
    """Return the page with its tables between their marks."""
    blocks = {"case": _case, "variants": _variants, "planning": _planning, "costs": _costs}
    return _SIZED.sub(lambda found: found[1] + "\n".join([*blocks[found["block"]](), ""]) + found[3], page)


def _sized(**changed: Any) -> Estimate:
    return estimate(Workload(**{**_CASE, **changed}), default_costs())


def _case() -> Iterator[str]:
    made = _sized()
    yield "| Summary | Value |"
    yield "|---|---|"
    yield from (f"| {each.name} | {format_quantity(each)} |" for each in made.summary())
    for title, section in made.sections().items():
        yield from ("", f"| {title} | Value | Formula |", "|---|---|---|")
        yield from (f"| {each.name} | {format_quantity(each)} | {_formula(each)} |" for each in section)


def _formula(figure: Quantity) -> str:
    return f"`{_cell(figure.formula)}`".replace(" * ", " \N{MULTIPLICATION SIGN} ")


def _variants() -> Iterator[str]:
    yield f"| | {' | '.join(_COMPARED)} |"
    yield "|" + "---|" * (len(_COMPARED) + 1)
    for name, changed in _VARIANTS.items():
        figures = _sized(**changed).figures()
        yield f"| {name} | {' | '.join(format_quantity(figures[figure]) for figure in _COMPARED)} |"


def _planning() -> Iterator[str]:
    report = json.loads((ROOT / "bench" / "results" / "sizing.json").read_text())
    yield f"`{report['commands']['planning']}`, {report['machine']}."
    yield ""
    yield "| Case | Topics | Ledgers | CPU of the driver | Memory, at the peak | Requests to admin | Answers | Splits |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, case in report["planning"].items():
        cells = [
            f"{case['topics']:,}",
            f"{case['ledgers']:,}",
            f"{case['driver_cpu']:.2f} s",
            f"{case['peak_mebibytes']:,.0f} MiB",
            f"{case['requests']:,.0f}",
            f"{case['answer_bytes'] / 2**20:,.1f} MiB",
            f"{case['splits']:,.0f}" if "splits" in case else "",
        ]
        yield f"| {name} | {' | '.join(cells)} |"
    for each in report["foretold"]:
        yield from (
            "",
            f"{each['case']}: {each['what']} predicted {each['foretold']:,}, measured {each['got']:,}.",
        )


def _costs() -> Iterator[str]:
    yield "| Cost | Value | Meaning |"
    yield "|---|---|---|"
    yield from (
        f"| `{cost.name}` | {format_quantity(cost)} | {meaning} |" for cost, meaning in default_costs().all()
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("--check", action="store_true", help="write nothing, compare")
    check = arguments.parse_args().check
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is stale; run scripts/generate_docs.py")
        else:
            path.write_text(pages()[path])
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
