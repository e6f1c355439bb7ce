"""Options for the ledgers of a topic: time bounds, splits and locations."""

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
"""Smallest accepted value of `clockSlackMs`.

A client sets the publish time before it sends a message. Official clients collect a batch for up to 10 ms, and earlier
requests may delay the message further. This minimum is ten times the delay of a batch, because a read with less slack
could miss messages.
"""


@dataclass(frozen=True, kw_only=True)
class SegmentOptions(BookieOptions):
    """The options for time bounds, splits and locations, as a part of the read options."""

    starting_timestamp: int | None = option(
        "startingTimestamp",
        instant,
        "Read messages whose publish time is this time or later. Set Unix milliseconds, or ISO 8601 with a time "
        "zone. The bound is exact, because the read compares the publish time of each message.",
        default=None,
        unset="`startingOffsets` applies",
        aliases=("startingTime",),
    )
    ending_timestamp: int | None = option(
        "endingTimestamp",
        instant,
        "Read messages whose publish time is before this time. Same form as `startingTimestamp`.",
        default=None,
        unset="`endingOffsets` applies",
        aliases=("endingTime",),
    )
    starting_offsets_by_timestamp: TimeBound | None = option(
        "startingOffsetsByTimestamp",
        times_by_topic("startingOffsetsByTimestamp"),
        "`startingTimestamp` of each topic or topic partition, as a JSON object.",
        default=None,
        unset="`startingTimestamp` applies",
    )
    ending_offsets_by_timestamp: TimeBound | None = option(
        "endingOffsetsByTimestamp",
        times_by_topic("endingOffsetsByTimestamp"),
        "`endingTimestamp` of each topic or topic partition, as a JSON object.",
        default=None,
        unset="`endingTimestamp` applies",
    )
    ending_event_time: int | None = option(
        "endingEventTime",
        instant,
        "A batch reads messages whose event time is before this time, and messages without an event time. In a stream, "
        "each topic partition ends before the first message whose event time is this time or later. Same form as "
        "`startingTimestamp`.",
        default=None,
        unset="no bound by event time",
    )
    ending_offsets_by_event_time: TimeBound | None = option(
        "endingOffsetsByEventTime",
        times_by_topic("endingOffsetsByEventTime"),
        "`endingEventTime` of each topic or topic partition, as a JSON object.",
        default=None,
        unset="`endingEventTime` applies",
    )
    clock_slack_ms: int = option(
        "clockSlackMs",
        whole(_LEAST_SLACK_MS, 31_536_000_000),
        "Tolerance for clock differences between producers and brokers, and for delivery delays, in milliseconds. The "
        "read skips a ledger if its distance from the time bounds exceeds the tolerance. The read checks the entries "
        "next to skipped ledgers, and opens more ledgers if these entries exceed the tolerance.",
        default=600_000,
    )
    min_partitions: int | None = option(
        "minPartitions",
        whole(1, 1_000_000),
        "Minimum number of splits, if the read has enough messages.",
        default=None,
        unset="`maxBytesPerPartition` determines the number of splits",
    )
    split_by: str = option(
        "splitBy",
        choice("position", "key"),
        "How `minPartitions` divides a topic partition. `position`: into consecutive ranges without overlap. `key`: "
        "by Pulsar's hash of the key, so that one task reads all messages of a key in order. With `key`, each split "
        "fetches the whole range, and `maxBytesPerPartition` and `maxRecordsPerPartition` do not apply.",
        default="position",
    )
    max_records_per_partition: int | None = option(
        "maxRecordsPerPartition",
        whole(1, 1_000_000_000),
        "Approximate maximum number of messages in one split.",
        default=None,
        unset="no limit",
    )
    max_bytes_per_partition: int = option(
        "maxBytesPerPartition",
        whole(1, 1 << 40),
        "Approximate maximum size of the stored entries of one split, in bytes. An entry is never divided.",
        default=64 << 20,
    )
    push_filters: bool | None = option(
        "pushFilters",
        yes_or_no,
        "Use filters on metadata columns to skip messages. Needs `spark.sql.python.filterPushdown.enabled`. Without "
        "the jar, set `true` only for a DataFrame that you query once. Spark 4.3 reuses the filters of the first "
        "query for the next one.",
        default=None,
        unset="`true` if the session has the catalog's jar, otherwise `false`",
    )
    read_from: str = option(
        "readFrom",
        choice(*READ_FROM),
        "Location from which closed ledgers are read. `auto` reads rows of the topic's table (`tierCatalog`) from the "
        "table, offloaded ledgers from tiered storage, and other ledgers from bookies. If a location fails, `auto` "
        "falls back to the bookies or the broker. Each other value names the only location. The open ledger is always "
        "read from the broker, but `columns` reads only the rows of the table. All values except `broker` need "
        "`admin.url`. If `admin.url` is not set, `auto` reads from the broker.",
        default=AUTO,
    )
    fail_on_data_loss: bool = option(
        "failOnDataLoss",
        yes_or_no,
        "Fail the query if messages of its range were removed, or if a topic of a stream is deleted or created again. "
        "With `false`, the query logs the loss instead, with the number of lost entries if that is known.",
        default=True,
    )
    bookie_addresses: tuple[tuple[str, str], ...] = option(
        "bookieAddresses",
        addresses_by_name,
        "Addresses of bookies whose id is not their address, as a JSON object from bookie id to `host:port`.",
        default=(),
        unset="the id of a bookie is its address",
    )
    bookie_http_url: str | None = option(
        "bookieHttpUrl",
        url("http"),
        "Address of the HTTP server of one bookie, which lists the hosts of bookies whose id is not their address. "
        "The HTTP server needs `httpServerEnabled=true` in bookkeeper.conf; its default port is 8000. The other "
        "bookies must listen on the same port as this one. Set `bookieAddresses` for bookies on other ports.",
        default=None,
        unset="none",
    )
    bookie_timeout_ms: int = option(
        "bookieTimeoutMs",
        whole(1, 600_000),
        "How long to wait for a connection to a bookie, or for a bookie's answer, in milliseconds. Afterwards the read "
        "tries another replica.",
        default=5_000,
    )
    tiered_storage_url: str | None = option(
        "tieredStorageUrl",
        store_url,
        "Address of the offloaded ledgers. Use `file:///folder` or `hdfs://host:port/folder` for Pulsar's file system "
        "offloader.",
        default=None,
        unset="the address in the namespace's offload policy",
    )
    tiered_storage_options: tuple[tuple[str, str], ...] = option(
        "tieredStorageOptions",
        store_settings,
        "Settings of the object store, as a JSON object with obstore's names, such as `region`, `endpoint`, "
        "`access_key_id`, `secret_access_key` and `allow_http`.",
        default=(),
        unset="the environment and credential files of each executor, such as `AWS_ACCESS_KEY_ID`",
        secret=True,
    )
    tiered_storage_secrets: tuple[tuple[str, str], ...] = option(
        "tieredStorageSecrets",
        json_texts('{"account_key": "..."}'),
        "Secret settings of the object store, as a JSON object, in addition to `tieredStorageOptions`. Spark redacts "
        "this option wherever it shows options.",
        default=(),
        unset="none",
        secret=True,
    )
    tier_catalog: tuple[tuple[str, str], ...] = option(
        "tierCatalog",
        catalog_settings,
        "Catalog of the tables that hold the topics' history as columns, as a JSON object. For Iceberg, set the "
        "`name` of the catalog and pyiceberg's properties, such as `type`, `uri`, `warehouse` and `s3.endpoint`. For "
        "Delta, set `type` to `delta` and `path` to the folder of the tables.",
        default=(),
        unset="the read does not use tables",
        secret=True,
    )
    tier_catalog_secrets: tuple[tuple[str, str], ...] = option(
        "tierCatalogSecrets",
        json_texts('{"credential": "..."}'),
        "Secret properties of the catalog, such as `credential`, `token` and `s3.secret-access-key`, as a JSON "
        "object, in addition to `tierCatalog`. Spark redacts this option wherever it shows options.",
        default=(),
        unset="none",
        secret=True,
    )
    tier_table: str = option(
        "tierTable",
        table_template,
        "Template for the name of a topic's table, as namespace and table. It contains `{topic}`, and optionally "
        "`{tenant}` and `{namespace}`. Underscores replace all characters of these parts but ASCII letters and digits.",
        default="{tenant}_{namespace}.{topic}",
    )
    behind_table: str | None = option(
        "behindTable",
        json_document('{"table": "history.orders", "id": "...", "partitions": {}}'),
        "Internal: the catalog sets this option for messages that Spark's own scan of a topic's table does not "
        "return. The option contains the name and the positions of the table. A batch reads the messages after these "
        "positions, and does not open the table.",
        default=None,
        unset="none",
    )
    audit_path: str | None = option(
        "auditPath",
        folder,
        "Folder in which each task records the entries that it has read, with their ledger and location. Set a path, "
        "`file:///folder`, `s3://bucket/folder`, `gs://bucket/folder` or `hdfs://host:port/folder`. "
        "`pyspark_pulsar.audit` reads the folder.",
        default=None,
        unset="no records",
    )

    @property
    def names_tables(self) -> bool:
        """Return whether the options name a catalog for the tables of topics."""
        return bool(self.tier_catalog or self.tier_catalog_secrets)

    @property
    def published_from(self) -> TimeBound | None:
        """Return the inclusive start by publish time, or None if no option sets a start time."""
        return one_bound(self.starting_timestamp, self.starting_offsets_by_timestamp)

    @property
    def published_before(self) -> TimeBound | None:
        """Return the exclusive end by publish time, or None if no option sets this end."""
        return one_bound(self.ending_timestamp, self.ending_offsets_by_timestamp)

    @property
    def event_before(self) -> TimeBound | None:
        """Return the exclusive end by event time, or None if no option sets this end."""
        return one_bound(self.ending_event_time, self.ending_offsets_by_event_time)

    def check_times(self) -> None:
        """Raise `OptionError` if the start by publish time is after the end."""
        start, end = self.starting_timestamp, self.ending_timestamp
        if start is not None and end is not None and start > end:
            raise OptionError(
                "option 'startingTimestamp' is after 'endingTimestamp': expected an earlier or equal start, got "
                f"{start} and {end} (Unix milliseconds); exchange or correct the times"
            )

    def check_read_from(self) -> None:
        """Raise `OptionError` if `readFrom` or `behindTable` needs the admin REST API and `admin.url` is not set.

        Only planners need this check, because tasks do not use the admin REST API.
        """
        if self.read_from not in (AUTO, BROKER) and self.admin_url is None:
            raise OptionError(
                f"option 'admin.url' is missing: expected it together with readFrom={self.read_from}, because the "
                "admin REST API lists the ledgers; set admin.url, or leave readFrom out"
            )
        if self.behind_table is not None and self.admin_url is None:
            raise OptionError(
                "option 'behindTable' needs admin.url, got none; leave behindTable out: only the catalog sets it"
            )

    def check_stream(self) -> None:
        """Raise `OptionError` if an option is set that only batches support."""
        if self.behind_table is not None:
            raise OptionError(
                "option 'behindTable' is set for a stream: expected it only for a batch; leave it out: only the "
                "catalog sets it"
            )
