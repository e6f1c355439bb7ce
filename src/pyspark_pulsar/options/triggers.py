"""Options about how much one micro-batch of a stream reads."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.connection import ConnectionOptions
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import duration, whole


@dataclass(frozen=True, kw_only=True)
class TriggerOptions(ConnectionOptions):
    """Part of the options of `spark.read` and `spark.readStream`."""

    max_records_per_trigger: int | None = option(
        "maxRecordsPerTrigger",
        whole(1, 1 << 40),
        "Streams only: a micro-batch reads no more messages than this, exactly as many while there are more. Shared "
        "among topic partitions in proportion to their backlog.",
        default=None,
        aliases=("maxOffsetsPerTrigger",),
    )
    max_bytes_per_trigger: int | None = option(
        "maxBytesPerTrigger",
        whole(1, 1 << 50),
        "Streams only: a micro-batch reads no more stored bytes than this, but one message at least. Shared like "
        "`maxRecordsPerTrigger`; with both, what is reached first counts.",
        default=None,
    )
    min_offsets_per_trigger: int | None = option(
        "minOffsetsPerTrigger",
        whole(1, 1 << 40),
        "Streams only: a micro-batch waits for so many messages, but no longer than `maxTriggerDelay`. The first one "
        "of a start, and those of `Trigger.AvailableNow`, do not wait.",
        default=None,
        aliases=("minRecordsPerTrigger",),
    )
    max_trigger_delay_ms: int = option(
        "maxTriggerDelay",
        duration,
        "How long after a micro-batch the next one waits for `minOffsetsPerTrigger`: milliseconds, or a number with "
        "`ms`, `s`, `m`, `h` or `d`.",
        default=15 * 60_000,
    )

    def check_limits(self) -> None:
        """Raises `OptionError` for a least that is above the most."""
        least, most = self.min_offsets_per_trigger, self.max_records_per_trigger
        if least is not None and most is not None and least > most:
            raise OptionError(
                f"option 'minOffsetsPerTrigger' is {least}: expected no more than maxRecordsPerTrigger ({most})"
            )

    def check_without_limits(self) -> None:
        """Raises `OptionError` where a limit is asked for, for a Spark that knows none."""
        limits = {
            "maxRecordsPerTrigger": self.max_records_per_trigger,
            "maxBytesPerTrigger": self.max_bytes_per_trigger,
            "minOffsetsPerTrigger": self.min_offsets_per_trigger,
        }
        for name, limit in limits.items():
            if limit is not None:
                raise OptionError(
                    f"option '{name}' is {limit}: expected no limit of a micro-batch with Spark 4.1, which knows none "
                    f"of a source in Python without the jar of this package; leave it out, start the session with "
                    f"pyspark_pulsar.configure, or use Spark 4.2 or later"
                )
