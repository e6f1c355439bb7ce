"""Writes what pages of docs/ repeat: the options and the errors from the code, what options change from bench/results,
and the figures of a load from the command that computes them.

Run it as `python scripts/generate_docs.py`. With `--check` it writes nothing and exits with 1 if a page is not
what would be written.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Pages need the names that modules import from the kernel, and none of its functions: no kernel has to be compiled.
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
from pyspark_pulsar.tools.cli.commands.size import shown
from pyspark_pulsar.tools.sizing.costs import default_costs
from pyspark_pulsar.tools.sizing.estimate import Estimate, estimate
from pyspark_pulsar.tools.sizing.quantity import Quantity
from pyspark_pulsar.tools.sizing.workload import Workload

ROOT = Path(__file__).resolve().parent.parent

_NOTICE = "<!-- Written by scripts/generate_docs.py (`make docs`). Change the code, not this page. -->"

_OPTIONS_HEAD = """\
# Options

Options are strings, as everywhere in Spark, and their names are not case-sensitive. They are read on the
driver before anything is connected. An option that is unknown, malformed, or given twice under two names is
an `OptionError`; a near miss gets a suggestion. Spark's own options, such as `checkpointLocation`, stay
Spark's.
"""

_ERRORS_HEAD = """\
# Errors

Everything that this package raises on purpose is a `pyspark_pulsar.PulsarError`. A message says what is wrong, what was
expected, where (topic, ledger, entry), and what to do. Most faults of a call are found on the driver, before a
task starts.

Spark puts an exception of its own around an error of a Python data source. The name and the text below are
in the message of that exception; the class itself is not what `except` sees.

## What you see

Spark writes an error of a Python data source with the frames of its own files and ours above it. They are left out:
what is raised on purpose says all itself.

| Where | What is shown |
|---|---|
| A session made with `pyspark_pulsar.configure` (unless `error_hook=False`), in a program or a \
notebook | The message first and last, between them the lines of your own program. \
Also where a cell ends in a value that fails when it is shown, as a DataFrame does \
over Spark Connect. |
| Any other session, after `pyspark_pulsar.install_error_hook()` | The same. In IPython and Jupyter \
`%load_ext pyspark_pulsar` does it too. |
| Any other session | The frames of your program and of PySpark, then the message in Spark's words, without the \
frames of the task. |
| `str(error)` | Spark's words around the message. |

A hook that another program has set, `sys.excepthook` or IPython's, stays as it is. Errors that are not of this package
are shown as before, with all frames.

To see the frames too, set the environment variable `PYSPARK_PULSAR_TRACEBACK=1` before the session starts, for tasks on
other machines as `spark.executorEnv.PYSPARK_PULSAR_TRACEBACK=1`.

## All of them
"""

_OPTIONS_END = """\
## Where to go next

- [Reading](reading.md), [streaming](streaming.md) and [writing](writing.md): how the options work together
- [Security](security.md): credentials and TLS
- [Errors](errors.md): what a wrong option is answered with
"""

_ERRORS_END = """\

## Where to go next

- [Troubleshooting](troubleshooting.md): from the symptom to what to do
- [When something fails](failures.md): what the package does by itself
- [Delivery guarantees](guarantees.md): what holds after an error
- [Options](options.md): how strict a read is
"""


def pages() -> dict[Path, str]:
    """The generated pages: path to text."""
    docs = ROOT / "docs"
    return {
        docs / "options.md": options_page(),
        docs / "errors.md": errors_page(),
        docs / "sizing.md": sizing_page((docs / "sizing.md").read_text()),
        docs / "tuning.md": tuning_page((docs / "tuning.md").read_text()),
    }


def options_page() -> str:
    security = set(option_fields(SecurityOptions))
    connection = set(option_fields(ConnectionOptions))
    shared = set(option_fields(ProtobufOptions))
    sections = [
        ("Connection: reading and writing", ConnectionOptions, connection - security),
        ("Security: reading and writing", SecurityOptions, security),
        ("Protobuf descriptors: reading and writing", ProtobufOptions, shared - connection),
        ("Reading", ReadOptions, set(option_fields(ReadOptions)) - shared),
        ("Writing", WriteOptions, set(option_fields(WriteOptions)) - shared),
    ]
    lines = [_NOTICE, _OPTIONS_HEAD]
    for title, scope, names in sections:
        lines += [f"## {title}", "", "| Option | Default | Value | Meaning |", "|---|---|---|---|"]
        lines += list(_option_rows(scope, names))
        lines.append("")
    return "\n".join([*lines, _OPTIONS_END])


def _option_rows(scope: type[ConnectionOptions], names: Iterable[str]) -> Iterator[str]:
    options = option_fields(scope)
    wanted = set(names)
    for field in fields(scope):
        if field.name in wanted:
            option = options[field.name]
            keys = ", also ".join(f"`{key}`" for key in (option.key, *option.aliases))
            yield f"| {keys} | {_default(field.default)} | {_accepted(option)} | {_cell(option.doc)} |"


_CLASS = re.compile(r"org\.apache\.[\w.]+ \((\w+)\)")


def _default(value: object) -> str:
    """As one would write it."""
    if value is MISSING:
        return "required"
    if value is None or value == ():
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _accepted(option: OptionField) -> str:
    """What the parser itself says when it is given nothing; of classes with a short name, that alone."""
    try:
        option.parse("")
    except ValueError as expected:
        return _CLASS.sub(r"\1", _cell(str(expected)))
    return "any text"


def errors_page() -> str:
    lines = [_NOTICE, _ERRORS_HEAD, "| Error | Is a | Meaning |", "|---|---|---|"]
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, PulsarError):
            bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
            lines.append(f"| `{name}` | {bases} | {_cell(inspect.getdoc(kind) or '')} |")
    return "\n".join([*lines, _ERRORS_END])


_KNOBS = re.compile(r"(?<=<!-- knobs -->\n).*?(?=<!-- /knobs -->)", re.DOTALL)
_LOADED = 1.0
"""Other work on the machine, as its load before the run, from which on a reader is warned."""


def tuning_page(page: str) -> str:
    """The page with the table of bench/results/knobs.json between its marks."""
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
        f"entries of up to 1000 rows, one topic partition; {report['machine']}. The first value is the default where "
        f"there is one; in brackets the time by that of the first."
    )
    if report["load_before"] < _LOADED:
        return head
    return f"{head} **The machine did other work as well (load {report['load_before']}): trust only large ratios.**"


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
"""As `docs/sizing.md` gives it to the command; a test holds both together."""
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
    "executors to keep up", "most lag", "executors to catch up", "time to catch up", "time to plan",
    "memory of the driver's Python", "checkpoint's offsets",
)  # fmt: skip


def sizing_page(page: str) -> str:
    """The page with its tables between their marks."""
    blocks = {"case": _case, "variants": _variants, "planning": _planning, "costs": _costs}
    return _SIZED.sub(lambda found: found[1] + "\n".join([*blocks[found["block"]](), ""]) + found[3], page)


def _sized(**changed: Any) -> Estimate:
    return estimate(Workload(**{**_CASE, **changed}), default_costs())


def _case() -> Iterator[str]:
    made = _sized()
    yield "| In short | |"
    yield "|---|---|"
    yield from (f"| {each.name} | {shown(each)} |" for each in made.summary())
    for title, section in made.sections().items():
        yield from ("", f"| {title} | | How |", "|---|---|---|")
        yield from (f"| {each.name} | {shown(each)} | {_formula(each)} |" for each in section)


def _formula(of: Quantity) -> str:
    return _cell(of.formula).replace(" * ", " \N{MULTIPLICATION SIGN} ")


def _variants() -> Iterator[str]:
    yield f"| | {' | '.join(_COMPARED)} |"
    yield "|" + "---|" * (len(_COMPARED) + 1)
    for name, changed in _VARIANTS.items():
        figures = _sized(**changed).figures()
        yield f"| {name} | {' | '.join(shown(figures[figure]) for figure in _COMPARED)} |"


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
            f"{each['case']}: {each['what']} foretold {each['foretold']:,}, measured {each['got']:,}.",
        )


def _costs() -> Iterator[str]:
    yield "| Cost | | What |"
    yield "|---|---|---|"
    yield from (f"| `{cost.name}` | {shown(cost)} | {meaning} |" for cost, meaning in default_costs().all())


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
