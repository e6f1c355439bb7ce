"""The command `pyspark-pulsar size`, which estimates the hardware for a load, and shows the formula of each number."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.tools.cli.setting import key_and_value
from pyspark_pulsar.tools.sizing.workload import Workload

if TYPE_CHECKING:
    from pyspark_pulsar.tools.sizing.costs import Costs
    from pyspark_pulsar.tools.sizing.estimate import Estimate
    from pyspark_pulsar.tools.sizing.own_topic import TopicSample
    from pyspark_pulsar.tools.sizing.quantity import Quantity

_INPUTS: Final = {
    # The meaning of each field of `Workload`. The help also shows the defaults.
    "topics": "Topic partitions.",
    "messages_a_day": "Messages of all topics together.",
    "message_bytes": "Mean stored bytes of a message; or set --bytes-a-day.",
    "entry_messages": "Mean messages that a producer puts into one entry.",
    "format": "AVRO, JSON, PROTOBUF_NATIVE or BYTES.",
    "columns": "Columns that the query reads.",
    "days": "Days of history to read.",
    "in_object_storage": "Share of the history that is offloaded.",
    "in_columns": "Share of the history in topics' tables; the rest is on bookies.",
    "written": "Messages written back to Pulsar for each message that is read.",
    "catch_up_hours": "Hours for reading the history.",
    "trigger_seconds": "Seconds from one micro-batch to the next.",
    "peak": "Rate of the busiest seconds, relative to the mean of the day.",
    "executor_cores": "Cores of an executor.",
    "executor_gigabits": "Network bandwidth of an executor, in 10^9 bits a second.",
    "utilization": "Share of cores and of time that the plan uses.",
    "ledger_hours": "Hours after which brokers close a ledger.",
    "ledger_entries": "Entries after which brokers close a ledger.",
    "ledger_bytes": "Bytes after which brokers close a ledger.",
    "split_bytes": "Option maxBytesPerPartition for reading the history.",
    "batch_tasks": "Largest number of splits of one plan of the history.",
    "admin_seconds": "Seconds that the admin REST API needs for an answer.",
    "object_seconds": "Seconds that object storage needs for a small request.",
}
_NEEDED: Final = ("topics", "messages_a_day")
_CALIBRATION_SECONDS: Final = 20.0
_UNITS: Final = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30}

Command = TypeVar("Command", bound=Callable[..., Any])


def _number(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Parse a number, which can end in a unit.

    The units are `k`, `M`, `G` and `T` for powers of 1000, and `Ki`, `Mi` and `Gi` for powers of 1024.
    """
    if text is None:
        return None
    plain = text.strip().replace("_", "").lower().removesuffix("b")
    letters = plain[len(plain.rstrip("kmgti")) :]
    try:
        return float(plain.removesuffix(letters)) * (_UNITS[letters] if letters else 1.0)
    except (KeyError, ValueError):
        msg = f"expected a number such as 6e9, 500 or 64Mi, got {text!r}."
        raise click.BadParameter(msg) from None


def _load_options(command: Command) -> Command:
    defaults = {field.name: field.default for field in fields(Workload)}
    for name in reversed(_INPUTS):
        convert, kind = (None, "FORMAT") if name == "format" else (_number, "N")
        flag = f"--{name.replace('_', '-')}"
        help_text = _INPUTS[name] + ("  [required]" if name in _NEEDED else _default(defaults[name]))
        command = click.option(flag, name, callback=convert, metavar=kind, help=help_text)(command)
    return command


def _default(value: object) -> str:
    """Return the default value of a flag as text for its help, or an empty text if the flag has no default."""
    if value is MISSING:
        return ""
    if not isinstance(value, float):
        return f"  [default: {value}]"
    for letters in ("gi", "mi"):
        if value >= _UNITS[letters]:
            return f"  [default: {value / _UNITS[letters]:g}{letters.capitalize()}]"
    return f"  [default: {value:.6g}]"


@click.command(short_help="Estimate the hardware for a load.")
@_load_options
@click.option("--bytes-a-day", callback=_number, metavar="N", help="Stored bytes of all topics together.")
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure the cost of messages on this machine, in about 20 s, without a server.",
)
@click.option("--topic", metavar="TOPIC", help="Also measure messages of this topic; needs --service-url.")
@click.option("--service-url", metavar="URL", help="Address of the brokers or the proxy of --topic.")
@click.option(
    "--option", "settings", multiple=True, metavar="KEY=VALUE", help="Any option of spark.read; repeatable."
)
@click.option(
    "--costs", "shows_costs", is_flag=True, help="Also show the costs, and where each was measured."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object; numbers in bytes and seconds.")
def size(
    bytes_a_day: float | None,
    topic: str | None,
    service_url: str | None,
    settings: tuple[str, ...],
    *,
    calibrate: bool,
    shows_costs: bool,
    as_json: bool,
    **load: Any,
) -> None:
    """Estimate the hardware for a load: executors, bandwidth, memory, requests, time to catch up, lag.

    All topics are assumed to be alike. Numbers can end in k, M, G, T, Ki, Mi, Gi.
    """
    from pyspark_pulsar.tools.sizing.estimate import as_json as estimate_json, estimate

    sample = None if topic is None else _sample(topic, service_url, settings)
    workload = _workload(load, bytes_a_day, sample)
    costs = _costs(sample, calibrate=calibrate)
    try:
        made = estimate(workload, costs)
    except OptionError as fault:
        raise _name_flags(fault) from None
    if as_json:
        click.echo(json.dumps(estimate_json(made)))
    else:
        print_estimate(made, shows_costs=shows_costs)


def _workload(load: dict[str, Any], bytes_a_day: float | None, sample: TopicSample | None) -> Workload:
    """Return the workload. The user's numbers take precedence over numbers that were measured on a topic."""
    inputs = {name: value for name, value in load.items() if value is not None}
    missing = [f"--{name.replace('_', '-')}" for name in _NEEDED if name not in inputs]
    if missing:
        raise click.UsageError(f"Missing option '{missing[0]}'.")
    if bytes_a_day is not None:
        if "message_bytes" in inputs:
            raise click.UsageError("--bytes-a-day and --message-bytes are both set; remove one of them.")
        if not inputs["messages_a_day"]:
            raise click.UsageError("--messages-a-day: expected a number above 0 with --bytes-a-day, got 0.")
        inputs["message_bytes"] = max(1.0, bytes_a_day / inputs["messages_a_day"])
    if sample is not None:
        inputs = {
            "message_bytes": sample.message_bytes,
            "entry_messages": sample.entry_messages,
            "format": sample.format,
            "columns": float(sample.columns),
        } | inputs
    if "message_bytes" not in inputs:
        raise click.UsageError("Missing option '--message-bytes' or '--bytes-a-day'.")
    try:
        return Workload(**inputs)
    except OptionError as fault:
        raise _name_flags(fault) from None


def _costs(sample: TopicSample | None, *, calibrate: bool) -> Costs:
    from pyspark_pulsar.tools.sizing.costs import OF_A_TOPIC, costs_here, default_costs

    measured: dict[str, float] = {}
    if calibrate:
        from pyspark_pulsar.tools.sizing.calibration import measure_costs

        click.echo("Measuring on this machine ...", err=True)
        measured |= measure_costs(_CALIBRATION_SECONDS)
    if sample is not None and sample.message_cpu is not None:
        measured[OF_A_TOPIC] = sample.message_cpu
    return costs_here(measured) if measured else default_costs()


def _sample(topic: str, service_url: str | None, settings: tuple[str, ...]) -> TopicSample:
    from pyspark_pulsar.options import ReadOptions, parse_options
    from pyspark_pulsar.options.parsers import topic_text
    from pyspark_pulsar.tools.sizing.own_topic import sample_topic

    if service_url is None:
        raise click.UsageError("Missing option '--service-url', which --topic needs.")
    texts = dict(key_and_value(setting, "--option") for setting in settings)
    options = parse_options(ReadOptions, {**texts, "topic": topic_text(topic), "service.url": service_url})
    click.echo("Reading some messages of the topic ...", err=True)
    return sample_topic(options)


def _name_flags(fault: OptionError) -> OptionError:
    """Replace the names of the fields of `Workload` in an error with the flags of the command."""
    text = str(fault)
    for name in _INPUTS:
        if "_" in name:
            text = text.replace(name, f"--{name.replace('_', '-')}")
    return OptionError(text if text.startswith("--") else f"--{text}")


def print_estimate(made: Estimate, *, shows_costs: bool) -> None:
    """Print tables of the inputs and the figures. With `shows_costs`, also print a table of the costs."""
    from pyspark_pulsar.tools.cli.output.screen import screen, table_of
    from pyspark_pulsar.tools.sizing.costs import where_measured

    console = screen()
    load = table_of("The load", ("what", "value"), right=("value",))
    for each in made.given.all():
        load.add_cells(each.name, format_quantity(each))
    console.print(load)
    brief = table_of("In short", ("figure", "value"), right=("value",))
    for each in made.summary():
        brief.add_cells(each.name, format_quantity(each))
    console.print(brief)
    for title, section in made.sections().items():
        table = table_of(title, ("figure", "value", "how"), right=("value",))
        for each in section:
            table.add_cells(each.name, format_quantity(each), each.formula)
        console.print(table)
    if shows_costs:
        costs = table_of("Costs", ("cost", "value", "what", "from"), right=("value",))
        for cost, meaning in made.costs.all():
            costs.add_cells(cost.name, format_quantity(cost), meaning, cost.source)
        console.print(costs)
    here = len(made.costs.measured)
    origin = f"{here} costs were measured on this machine, the others" if here else "All costs were measured"
    console.print(f"{origin} on {where_measured()} (--costs shows them).", soft_wrap=True)


def format_quantity(figure: Quantity) -> str:
    """Return a value as text, in a unit that fits its size, such as KiB, minutes or microseconds."""
    from pyspark_pulsar.tools.cli.output.text import human_bytes
    from pyspark_pulsar.tools.sizing.quantity import number_text

    if figure.unit == "B":
        return human_bytes(round(figure.value))
    if figure.unit == "B/s":
        return f"{human_bytes(round(figure.value))}/s"
    if figure.unit == "s":
        return _time(figure.value)
    head, _, rest = figure.unit.partition("/")
    if head == "core·s" and rest:
        return f"{_small_time(figure.value)}/{rest}"
    if head == "B" and figure.value >= _UNITS["mi"]:
        return f"{human_bytes(round(figure.value))}/{rest}"
    number = figure.value if abs(figure.value) < _EXACT else float(round(figure.value))
    return f"{number_text(number)} {_plural(figure.unit, number)}".strip()


def _plural(unit: str, number: float) -> str:
    """Return a unit in the plural, unless the number is 1: `3,000 topics`, `1 message/day`, `4 cores/executor`."""
    head, slash, rest = unit.partition("/")
    # `B`, and products such as `core·s`, have no plural.
    if number == 1 or not head.isascii() or len(head) <= 1:
        return unit
    many = f"{head[:-1]}ies" if head.endswith("ry") else f"{head}s"
    return f"{many}{slash}{rest}"


_EXACT: Final = 100.0
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


def _time(seconds: float) -> str:
    for size_of, name in ((_DAY, "days"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= 2 * size_of:
            return f"{seconds / size_of:.1f} {name}"
    return f"{seconds:.3g} s" if seconds >= 1 or not seconds else _small_time(seconds)


def _small_time(seconds: float) -> str:
    for size_of, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size_of:
            return f"{seconds / size_of:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"
