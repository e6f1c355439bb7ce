"""Options of `spark.read` as flags of the commands that show a planned read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import click

from pyspark_pulsar.options import ReadOptions, option_fields, parse_options
from pyspark_pulsar.tools.cli.setting import key_and_value

# The options that have their own flag. The flag `--option` sets all other options.
_FLAGS: Final = (
    "service_url", "admin_url", "starting_offsets", "ending_offsets", "starting_timestamp", "ending_timestamp",
    "starting_offsets_by_timestamp", "ending_offsets_by_timestamp", "ending_event_time",
    "ending_offsets_by_event_time", "clock_slack_ms", "min_partitions", "split_by", "max_records_per_partition",
    "max_bytes_per_partition", "read_from", "read_compacted", "fail_on_data_loss", "bookie_addresses",
    "tiered_storage_url", "tiered_storage_options",
)  # fmt: skip
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")

Command = TypeVar("Command", bound=Callable[..., Any])


def read_arguments(*, required: bool = True, flags: Sequence[str] = _FLAGS) -> Callable[[Command], Command]:
    """Return a decorator that adds the argument TOPIC, flags for options, and `--option` to a command.

    The command receives the values as `topics`, as `settings` and as one keyword for each flag. `parse_arguments`
    parses these values.

    Args:
        required: Require at least one topic.
        flags: The names of the fields of `ReadOptions` that get a flag.

    """

    def decorate(command: Command) -> Command:
        option = click.option(
            "--option",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="Any option of spark.read; repeatable.",
        )
        command = option(command)
        table = option_fields(ReadOptions)
        for name in reversed(flags):
            field = table[name]
            help_text = field.doc.replace("`", "").split(". ")[0].rstrip(".") + "."
            command = click.option(_flag(field.key), name, metavar="TEXT", help=help_text)(command)
        metavar = "TOPIC..." if required else "[TOPIC]..."
        return click.argument("topics", nargs=-1, required=required, metavar=metavar)(command)

    return decorate


def parse_arguments(
    topics: tuple[str, ...], settings: tuple[str, ...], flags: Mapping[str, str | None]
) -> ReadOptions:
    """Parse the arguments that `read_arguments` adds.

    Raises:
        OptionError: An option has a wrong value.
        click.UsageError: The service URL is missing, or an option is set twice.

    """
    table = option_fields(ReadOptions)
    texts = {table[name].key: value for name, value in flags.items() if value is not None}
    for setting in settings:
        key, value = key_and_value(setting, "--option")
        if key in texts:
            msg = f"{key} is set twice; remove one of them."
            raise click.BadParameter(msg, param_hint="--option")
        texts[key] = value
    if not any(key.lower() in {"service.url", "serviceurl"} for key in texts):
        msg = "Missing option '--service-url'."
        raise click.UsageError(msg)
    # Pass the topics as JSON, because their names can contain commas and blanks.
    names = {"topics": json.dumps(topics)}
    return parse_options(ReadOptions, {**names, **texts})


def _flag(key: str) -> str:
    return "--" + _CAPITAL.sub("-", key).replace(".", "-").lower()
