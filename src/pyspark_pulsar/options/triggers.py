"""Limits on the messages that one micro-batch of a stream reads."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.connection import ConnectionOptions
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import duration, whole


@dataclass(frozen=True, kw_only=True)
class TriggerOptions(ConnectionOptions):
    """The limits of micro-batches, as a part of the read options."""

    max_records_per_trigger: int | None = option(
        "maxRecordsPerTrigger",
        whole(1, 1 << 40),
        "Streams only: maximum number of messages in one micro-batch. A micro-batch reads exactly this number while "
        "the backlog is larger. Topic partitions share the limit in proportion to their backlogs.",
        default=None,
        unset="no limit",
        aliases=("maxOffsetsPerTrigger",),
    )
    max_bytes_per_trigger: int | None = option(
        "maxBytesPerTrigger",
        whole(1, 1 << 50),
        "Streams only: maximum size of the messages in one micro-batch as stored, in bytes. Each micro-batch reads at "
        "least one message. Topic partitions share the limit as for `maxRecordsPerTrigger`. With both options, the "
        "limit that is reached first applies.",
        default=None,
        unset="no limit",
    )
    min_offsets_per_trigger: int | None = option(
        "minOffsetsPerTrigger",
        whole(1, 1 << 40),
        "Streams only: number of messages for which a micro-batch waits, for at most `maxTriggerDelay`. The first "
        "micro-batch after a start does not wait, nor do micro-batches of `Trigger.AvailableNow`.",
        default=None,
        unset="micro-batches do not wait",
        aliases=("minRecordsPerTrigger",),
    )
    max_trigger_delay_ms: int = option(
        "maxTriggerDelay",
        duration,
        "Streams only: longest time that a micro-batch waits for `minOffsetsPerTrigger`, from the last micro-batch on. "
        "Set milliseconds, or a number with the unit `ms`, `s`, `m` (or `min`), `h` or `d`.",
        default=15 * 60_000,
    )

    def check_limits(self) -> None:
        """Raise `OptionError` if the minimum of a micro-batch is above the maximum."""
        least, most = self.min_offsets_per_trigger, self.max_records_per_trigger
        if least is not None and most is not None and least > most:
            raise OptionError(
                f"option 'minOffsetsPerTrigger' is {least}: expected at most maxRecordsPerTrigger ({most}); "
                "lower minOffsetsPerTrigger"
            )

    def check_without_limits(self) -> None:
        """Raise `OptionError` if a limit is set. Call this for a Spark version that does not support limits."""
        limits = {
            "maxRecordsPerTrigger": self.max_records_per_trigger,
            "maxBytesPerTrigger": self.max_bytes_per_trigger,
            "minOffsetsPerTrigger": self.min_offsets_per_trigger,
        }
        for name, limit in limits.items():
            if limit is not None:
                raise OptionError(
                    f"option '{name}' is {limit}: expected no limit of a micro-batch with Spark 4.1, which needs the "
                    "jar of this package for limits; leave the option out, start the session with "
                    "pyspark_pulsar.configure, or use Spark 4.2 or later"
                )
