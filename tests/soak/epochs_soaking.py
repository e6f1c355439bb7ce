"""A soak of the size of a checkpoint in Pulsar, with thousands of micro-batches of one Spark query.

The query drops duplicates of increasing numbers. RocksDB therefore never rewrites its early files, and the files stay
live. The cleaner must copy them to new ledgers. After the last micro-batch, each of the two logs is allowed to store at
most the size of its live files and of two ledgers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pulsar as official_client
from integration.official import Admin
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar import configure
from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.clients import ClusterSettings
from pyspark_pulsar.checkpoint.commands.copying import Entry, entries, verify
from pyspark_pulsar.checkpoint.store import Store
from pyspark_pulsar.checkpoint.upload import INLINE_BYTES
from pyspark_pulsar.tools.standalone import LocalPulsar

TOPIC = "persistent://public/kept/numbers"
CHECKPOINT = "pulsar+checkpoint://public/default/numbers-query"
_EPOCH_SECONDS = 5.0
_CLEAN_SECONDS = 600.0
_LOOK_SECONDS = 10.0
_OLD_EPOCHS = 1_000
_SERVER = {
    "managedLedgerMaxEntriesPerLedger": "200",
    "managedLedgerMinLedgerRolloverTimeMinutes": "0",
    "defaultRetentionTimeInMinutes": "0",
    "defaultRetentionSizeInMB": "0",
}
_STATE = "spark.sql.streaming.stateStore"


@dataclass
class EpochsReport:
    """The stored bytes at the end of a soak. `faults` contains all faults."""

    epochs: int
    seconds: float
    live: dict[str, int]
    """Bytes of live files by log. Small files are in the index."""
    stored: dict[str, int]
    largest_ledger: dict[str, int]
    files: int
    old_files: int
    """RocksDB's files that were written more than a thousand epochs before the end."""
    rows: int
    faults: list[str]


def epochs_soak(folder: Path, epochs: int, rows: int, say: Callable[[str], None]) -> EpochsReport:
    """Run the soak, with `rows` rows in each micro-batch."""
    began = time.monotonic()
    with LocalPulsar(data=folder / "pulsar", config=_SERVER) as server:
        admin = Admin(server.admin_url)
        # The server keeps no messages that are acknowledged, or that have no subscription.
        admin.make_namespace("public/kept")
        admin.keep_for(TOPIC, minutes=-1)
        _send(server, epochs * rows)
        spark = _session(server)
        try:
            old_ms = _run(spark, server, epochs, rows, say)
            logs = _Logs(server)
            faults = logs.await_clean(say)
            count = spark.read.format("statestore").load(CHECKPOINT).count()
            faults += (
                [] if count == epochs * rows else [f"{count} numbers in the state, expected {epochs * rows}"]
            )
            faults += logs.unreadable()
            files = logs.files()
        finally:
            spark.stop()
        old = [file for file in files if file.path[-1].endswith(".sst") and file.modified_ms < old_ms]
        if epochs > _OLD_EPOCHS and not old:
            faults.append(
                "no file of RocksDB is older than a thousand epochs: the cleaner had nothing to copy"
            )
        return EpochsReport(
            epochs,
            round(time.monotonic() - began, 1),
            logs.live(),
            {name: sum(sizes) for name, sizes in logs.ledgers().items()},
            {name: max(sizes) for name, sizes in logs.ledgers().items()},
            len(files),
            len(old),
            count,
            faults,
        )


class _Logs:
    """The two topics of the checkpoint, and the live files in them."""

    def __init__(self, server: LocalPulsar) -> None:
        self._server = server
        self._admin = Admin(server.admin_url)

    def ledgers(self) -> dict[str, list[int]]:
        """Return the bytes of each ledger, by log."""
        sizes = {}
        for name in ("index", "content"):
            path = f"{CHECKPOINT.replace('pulsar+checkpoint://', 'persistent/')}-{name}"
            self._admin.request("POST", f"{path}/trim")
            stats = self._admin._must("GET", f"{path}/internalStats")
            closed = [ledger["size"] for ledger in stats["ledgers"][:-1]]
            sizes[name] = [*closed, stats["currentLedgerSize"]]
        return sizes

    def files(self) -> list[Entry]:
        with self._store() as store:
            found = entries(store.checkpoint(parse_path(CHECKPOINT).checkpoint))
        return [entry for entry in found if entry.id]

    def live(self) -> dict[str, int]:
        files = self.files()
        return {
            "index": sum(file.length for file in files if file.length <= INLINE_BYTES),
            "content": sum(file.length for file in files if file.length > INLINE_BYTES),
        }

    def await_clean(self, say: Callable[[str], None]) -> list[str]:
        """Wait for the cleaner, which runs in the process of the query, and return the faults."""
        deadline = time.monotonic() + _CLEAN_SECONDS
        while True:
            live, ledgers = self.live(), self.ledgers()
            told = f"{live} lives, {ledgers} is stored"
            say(told)
            if all(sum(sizes) <= live[name] + 2 * max(sizes) for name, sizes in ledgers.items()):
                return []
            if time.monotonic() > deadline:
                return [f"more is stored than lives, and two ledgers: {told}"]
            time.sleep(_LOOK_SECONDS)

    def unreadable(self) -> list[str]:
        with self._store() as store:
            checked = list(verify(store.checkpoint(parse_path(CHECKPOINT).checkpoint)))
        return [f"{'/'.join(entry.path)}: {fault}" for entry, fault in checked if fault is not None]

    def _store(self) -> Store:
        return Store(ClusterSettings.parse({"service.url": self._server.service_url}))


def _send(server: LocalPulsar, numbers: int) -> None:
    client = official_client.Client(server.service_url)
    producer = client.create_producer(TOPIC, batching_enabled=True, block_if_queue_full=True)
    for number in range(numbers):
        producer.send_async(f"{number:012}".encode(), lambda *_: None)
    producer.flush()
    client.close()


def _session(server: LocalPulsar) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config(
        f"{_STATE}.minDeltasForSnapshot", "5"
    )
    builder = builder.config(f"{_STATE}.maintenanceInterval", "5s").config(
        "spark.sql.streaming.noDataMicroBatches.enabled", "false"
    )
    configured = configure(builder, server.service_url, server.admin_url, checkpoints="rocksdb")
    return configured.getOrCreate()


def _run(spark: SparkSession, server: LocalPulsar, epochs: int, rows: int, say: Callable[[str], None]) -> int:
    """Run all micro-batches. Return the start of the thousandth micro-batch from the end, in Unix milliseconds."""
    query = (
        spark.readStream.format("pulsar")
        .option("service.url", server.service_url)
        .option("topic", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows)
        .load()
        .selectExpr("cast(value as string) as number")
        .dropDuplicates(["number"])
        .writeStream.format("noop")
        .option("checkpointLocation", CHECKPOINT)
        .trigger(availableNow=True)
        .start()
    )
    old_ms, deadline = 0, time.monotonic() + epochs * _EPOCH_SECONDS
    while not query.awaitTermination(1):
        done = _epochs(query)
        if done >= epochs - _OLD_EPOCHS and not old_ms:
            old_ms = time.time_ns() // 1_000_000
        if done % 50 < 2:
            say(f"{done} epochs")
        assert time.monotonic() < deadline, f"{done} of {epochs} epochs in {epochs * _EPOCH_SECONDS} s"
    return old_ms


def _epochs(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return 0 if progress is None else int(progress["batchId"]) + 1
