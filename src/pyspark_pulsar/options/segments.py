"""Options about the ledgers of a topic: which times, how they are cut into splits, and where they are read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.bookies import BookieOptions
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import (
    addresses_by_name,
    catalog_settings,
    choice,
    folder,
    instant,
    json_document,
    json_texts,
    store_settings,
    store_url,
    table_template,
    url,
    whole,
    yes_or_no,
)
from pyspark_pulsar.options.values.read_from import ALL as READ_FROM, AUTO, BROKER
from pyspark_pulsar.options.values.time_bound import TimeBound, one_bound, times_by_topic

_LEAST_SLACK_MS: Final = 100
"""A message has its publish time before it is sent: official clients collect batches for up to 10 ms, and requests of
others are before it. Ten times that; nothing below it can hold."""


@dataclass(frozen=True, kw_only=True)
class SegmentOptions(BookieOptions):
    """Part of the options of `spark.read` and `spark.readStream`."""

    starting_timestamp: int | None = option(
        "startingTimestamp",
        instant,
        "Read messages published at this time or later: Unix milliseconds, or ISO 8601 such as "
        "`2026-01-31T08:00:00Z`. Exact, by the publish time of each message.",
        default=None,
        aliases=("startingTime",),
    )
    ending_timestamp: int | None = option(
        "endingTimestamp",
        instant,
        "Read messages published before this time; as `startingTimestamp`, exclusive.",
        default=None,
        aliases=("endingTime",),
    )
    starting_offsets_by_timestamp: TimeBound | None = option(
        "startingOffsetsByTimestamp",
        times_by_topic("startingOffsetsByTimestamp"),
        "JSON from topic or topic partition to a time as in `startingTimestamp`.",
        default=None,
    )
    ending_offsets_by_timestamp: TimeBound | None = option(
        "endingOffsetsByTimestamp",
        times_by_topic("endingOffsetsByTimestamp"),
        "JSON from topic or topic partition to a time as in `endingTimestamp`.",
        default=None,
    )
    ending_event_time: int | None = option(
        "endingEventTime",
        instant,
        "A batch reads messages whose event time is before this, and those without one; of a stream, each topic "
        "partition ends before the first message whose event time is this or later. As `startingTimestamp`.",
        default=None,
    )
    ending_offsets_by_event_time: TimeBound | None = option(
        "endingOffsetsByEventTime",
        times_by_topic("endingOffsetsByEventTime"),
        "JSON from topic or topic partition to a time as in `endingEventTime`.",
        default=None,
    )
    clock_slack_ms: int = option(
        "clockSlackMs",
        whole(_LEAST_SLACK_MS, 31_536_000_000),
        "How far producers' clocks may differ from the brokers', and how long messages may be under way, in "
        "milliseconds, at least 100: ledgers farther than this outside the asked times are not opened. Entries beside "
        "what is left out are looked at, and where they lie farther off, more is opened.",
        default=600_000,
    )
    min_partitions: int | None = option(
        "minPartitions",
        whole(1, 1_000_000),
        "Cut what is read into at least so many splits (as far as there are messages).",
        default=None,
    )
    split_by: str = option(
        "splitBy",
        choice("position", "key"),
        "How `minPartitions` cuts a topic partition. `position`: into parts one behind the other, each read once. "
        "`key`: by Pulsar's hash of the key, so that all messages of a key come to one task in order; each part "
        "fetches the whole range, and `maxBytesPerPartition` and `maxRecordsPerPartition` do not apply.",
        default="position",
    )
    max_records_per_partition: int | None = option(
        "maxRecordsPerPartition",
        whole(1, 1_000_000_000),
        "Cut what is read into splits of about so many messages at most.",
        default=None,
    )
    max_bytes_per_partition: int = option(
        "maxBytesPerPartition",
        whole(1, 1 << 40),
        "Cut what is read into splits of about so many stored bytes; an entry is never cut for it.",
        default=64 << 20,
    )
    push_filters: bool | None = option(
        "pushFilters",
        yes_or_no,
        "Let filters on metadata columns decide what is read, where `spark.sql.python.filterPushdown.enabled` is on. "
        "Default: yes where the session has the catalog's jar. Without the jar, only for a DataFrame of which one "
        "query is made: Spark 4.3 reads a second one with the filters of the first.",
        default=None,
    )
    read_from: str = option(
        "readFrom",
        choice(*READ_FROM),
        "Where closed ledgers are read from. `auto`: what the topic's table holds from there (`tierCatalog`), an "
        "offloaded ledger from tiered storage, another one from the bookies, and what cannot be read there from the "
        "bookies or the broker. What is named is the only place; the open ledger always comes from the broker. "
        "`columns`: what the table holds, and nothing behind it. All but `broker` need `admin.url`; without it, "
        "`auto` is the broker.",
        default=AUTO,
    )
    fail_on_data_loss: bool = option(
        "failOnDataLoss",
        yes_or_no,
        "Whether messages that were removed from the asked range fail the query, and topics that are deleted behind a "
        "stream, or made again. `false`: the log tells it, with the number of entries where that is known.",
        default=True,
    )
    bookie_addresses: tuple[tuple[str, str], ...] = option(
        "bookieAddresses",
        addresses_by_name,
        "JSON object from bookie id to `host:port`, for bookies whose id is not their address.",
        default=(),
    )
    bookie_http_url: str | None = option(
        "bookieHttpUrl",
        url("http"),
        "Address of the HTTP server of one bookie (`httpServerEnabled=true` in bookkeeper.conf; port 8000 by default), "
        "which says on which hosts those bookies are whose id is not their address. All of them listen on the same "
        "port as that one, or `bookieAddresses` names them.",
        default=None,
    )
    bookie_timeout_ms: int = option(
        "bookieTimeoutMs",
        whole(1, 600_000),
        "How long a bookie may take to connect or to answer before another replica is asked, in milliseconds.",
        default=5_000,
    )
    tiered_storage_url: str | None = option(
        "tieredStorageUrl",
        store_url,
        "Where offloaded ledgers lie: `s3://bucket`, `gs://bucket`, `az://container`, or for the file system "
        "offloader `file:///folder` or `hdfs://host:port/folder`. Default: what the namespace's offload policy says.",
        default=None,
    )
    tiered_storage_options: tuple[tuple[str, str], ...] = option(
        "tieredStorageOptions",
        store_settings,
        "JSON object of settings of the object store, such as `region`, `endpoint`, `access_key_id`, "
        "`secret_access_key`, `allow_http`, by obstore's names. Default: the usual environment of each executor.",
        default=(),
        secret=True,
    )
    tiered_storage_secrets: tuple[tuple[str, str], ...] = option(
        "tieredStorageSecrets",
        json_texts,
        "JSON object of further such settings: those that are secret, such as `account_key`. Spark hides options of "
        "this name wherever it shows others.",
        default=(),
        secret=True,
    )
    tier_catalog: tuple[tuple[str, str], ...] = option(
        "tierCatalog",
        catalog_settings,
        "JSON object that says where the tables lie that hold topics' history as columns: properties of an Iceberg "
        "catalog as pyiceberg takes them, such as `type`, `uri`, `warehouse`, `s3.endpoint`, and `name`; or `type` "
        "`delta` and `path`, the folder of Delta tables. Default: history is not looked for in tables.",
        default=(),
        secret=True,
    )
    tier_catalog_secrets: tuple[tuple[str, str], ...] = option(
        "tierCatalogSecrets",
        json_texts,
        "JSON object of further such properties: those that are secret, such as `credential`, `token`, "
        "`s3.secret-access-key`. Spark hides options of this name wherever it shows others.",
        default=(),
        secret=True,
    )
    tier_table: str = option(
        "tierTable",
        table_template,
        "The name of a topic's table: namespace and table, with `{topic}` and where needed `{tenant}` and "
        "`{namespace}`, in which all but letters, digits and underscores of ASCII become underscores.",
        default="{tenant}_{namespace}.{topic}",
    )
    behind_table: str | None = option(
        "behindTable",
        json_document,
        "JSON object with the name and the positions of a topic's table: a batch reads what is behind these positions, "
        "and does not look at the table. The catalog sets it for what Spark's own scan of the table leaves.",
        default=None,
    )
    audit_path: str | None = option(
        "auditPath",
        folder,
        "A folder in which each task writes down which entries of which ledgers it has read, and from where: a path, "
        "`file:///folder`, `s3://bucket/folder`, `gs://bucket/folder` or `hdfs://host:port/folder`. "
        "`pyspark_pulsar.audit` shows it.",
        default=None,
    )

    @property
    def names_tables(self) -> bool:
        """Whether topics may have tables that hold their history."""
        return bool(self.tier_catalog or self.tier_catalog_secrets)

    @property
    def published_from(self) -> TimeBound | None:
        """Where the query begins by publish time (inclusive), whichever option says it; None where none does."""
        return one_bound(self.starting_timestamp, self.starting_offsets_by_timestamp)

    @property
    def published_before(self) -> TimeBound | None:
        """Where it ends by publish time (exclusive)."""
        return one_bound(self.ending_timestamp, self.ending_offsets_by_timestamp)

    @property
    def event_before(self) -> TimeBound | None:
        """Where it ends by event time (exclusive)."""
        return one_bound(self.ending_event_time, self.ending_offsets_by_event_time)

    def check_times(self) -> None:
        """Raises `OptionError` for a start behind the end."""
        start, end = self.starting_timestamp, self.ending_timestamp
        if start is not None and end is not None and start > end:
            raise OptionError(
                f"option 'startingTimestamp' is behind 'endingTimestamp': expected a start that is not, got {start} "
                f"and {end} (Unix milliseconds)"
            )

    def check_read_from(self) -> None:
        """For those who plan, as tasks do without: raises `OptionError` where `readFrom` or `behindTable` needs the
        admin REST API and its address is not given."""
        if self.read_from not in (AUTO, BROKER) and self.admin_url is None:
            raise OptionError(
                f"option 'admin.url' is missing: expected it beside readFrom={self.read_from}, as the admin REST API "
                f"says which ledgers there are"
            )
        if self.behind_table is not None and self.admin_url is None:
            raise OptionError(
                "option 'behindTable' is given without admin.url; leave it out: the catalog sets it"
            )

    def check_stream(self) -> None:
        """Raises `OptionError` for what only a batch can do."""
        if self.behind_table is not None:
            raise OptionError(
                "option 'behindTable' is given to a stream: expected only in a batch; leave it out: the catalog sets it"
            )
