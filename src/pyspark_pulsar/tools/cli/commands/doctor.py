"""The command `pyspark-pulsar doctor`, which checks everything that a query needs. Only `--spark` uses Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import click

from pyspark_pulsar.tools.cli.read_options import parse_arguments, read_arguments
from pyspark_pulsar.tools.cli.setting import key_and_value

if TYPE_CHECKING:
    from pyspark_pulsar.tools.doctor.finding import Finding

_FAULTY: Final = 1
_FLAGS: Final = (
    "service_url", "admin_url", "read_from", "bookie_addresses", "tiered_storage_url", "tiered_storage_options",
)  # fmt: skip
_STYLES: Final = {"ok": "green", "warning": "yellow", "fault": "bold red", "not asked": "dim"}
_WIDE: Final = 140
_NO_TOPIC: Final = ("persistent://public/default/doctor",)


@click.command(short_help="Check everything that a query needs.")
@read_arguments(required=False, flags=_FLAGS)
@click.option(
    "--write", "writes", is_flag=True, help="Also check the permission to write the topics; nothing is sent."
)
@click.option(
    "--spark",
    "master",
    metavar="MASTER",
    help="Also check Spark's executors, with a small job on this master, such as local[2] or yarn.",
)
@click.option(
    "--conf",
    "conf",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --spark: a setting of Spark; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each finding.")
def doctor(
    topics: tuple[str, ...],
    settings: tuple[str, ...],
    *,
    writes: bool,
    master: str | None,
    conf: tuple[str, ...],
    as_json: bool,
    **flags: str | None,
) -> None:
    """Check everything that a query on TOPIC needs, such as versions, permissions and storage.

    The checks cover versions, the interpreter, brokers, permissions, the admin REST API, clocks, bookies and tiered
    storage. With --spark, the checks also cover executors. A finding that requires action contains advice. The exit
    code is 1 if there is a fault. A query can run despite warnings.
    """
    from pyspark_pulsar.read.bounds.topics import named_topics
    from pyspark_pulsar.tools.doctor.examination import examine

    options = parse_arguments(topics or _NO_TOPIC, settings, flags)
    names = tuple(named_topics(options)) if topics else ()
    spark_conf = dict(key_and_value(setting, "--conf") for setting in conf)
    findings = []
    for finding in examine(options, names, writes=writes, master=master, conf=spark_conf):
        findings.append(finding)
        if as_json:
            _print_json(finding)
    if not as_json:
        _print_table(findings)
    if any(finding.state == "fault" for finding in findings):
        sys.exit(_FAULTY)


def _print_json(finding: Finding) -> None:
    from pyspark_pulsar.tools.cli.output.text import json_line

    click.echo(json_line(asdict(finding)))


def _print_table(findings: Sequence[Finding]) -> None:
    """Print the findings as a table. On a wide screen, the subject and the advice have separate columns."""
    from collections import Counter

    from rich.text import Text

    from pyspark_pulsar.errors import printable
    from pyspark_pulsar.tools.cli.output.screen import screen, table_of
    from pyspark_pulsar.tools.cli.output.text import plural

    console = screen()
    is_wide = console.width >= _WIDE
    table = table_of("", ("state", "what", "found", "what to do") if is_wide else ("state", "found"))
    table.title = None
    table.columns[0].no_wrap = True
    for finding in findings:
        state = Text(finding.state, style=_STYLES[finding.state])
        if is_wide:
            table.add_cells(state, finding.subject, finding.found, finding.advice)
            continue
        found = Text.assemble((printable(finding.subject), "bold"), f": {printable(finding.found)}")
        if finding.advice:
            found.append(f"\nWhat to do: {printable(finding.advice)}", style="italic")
        table.add_row(state, found)
    console.print(table)
    counts = Counter(finding.state for finding in findings)
    faults, warnings = counts["fault"], counts["warning"]
    console.print(f"{plural(faults, 'fault')}, {plural(warnings, 'warning')}", soft_wrap=True)
