"""The cluster of bench/segments.py, and its topics.

The cluster is the tests' cluster with enough resources for fast servers. With a slow broker, each reader of
bookies would look good.
"""

import contextlib
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pulsar as official
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fixtures.cluster.pulsar_cluster import PulsarCluster
from fixtures.cluster.server import Server
from integration.cluster.administration import ClusterAdmin
from process_use import cpu_seconds

from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.target import settle_target
from pyspark_pulsar.write.task import write_rows

_HEAP_MEBIBYTES = {"broker": 1024, "bookie": 512}
_BOOKIE = {
    "dbStorage_writeCacheMaxSizeMb": "128",
    "dbStorage_readAheadCacheMaxSizeMb": "192",
    "dbStorage_rocksDB_blockCacheSize": str(64 * 1024 * 1024),
    "flushInterval": "10000",
    "gcWaitTime": "60000",
}
_WORDS = (
    "pulsar",
    "ledger",
    "entry",
    "bookie",
    "broker",
    "cursor",
    "reader",
    "writer",
    "segment",
    "stream",
    "batch",
)


class BenchCluster(PulsarCluster):
    """The tests' cluster with Java's second compiler and with larger heaps and caches."""

    def new_bookie(self, name: str, port: int | None = None, **settings: str) -> Server:
        return super().new_bookie(name, port, **(_BOOKIE | settings))

    def _environment(self, conf_variable: str, conf: Path, heap_mebibytes: int) -> dict[str, str]:
        role = conf.stem.partition("-")[0]
        environment = super()._environment(conf_variable, conf, _HEAP_MEBIBYTES.get(role, heap_mebibytes))
        return environment | {"PULSAR_GC": "-XX:+UseSerialGC -Xshare:auto"}


@contextlib.contextmanager
def cluster(data: Path, entries_per_ledger: int) -> Iterator["Servers"]:
    broker = {"managedLedgerMaxEntriesPerLedger": str(entries_per_ledger)}
    running = BenchCluster(data, broker)
    with running.running():
        yield Servers(running, ClusterAdmin(running))


@dataclass(frozen=True)
class Servers:
    cluster: PulsarCluster
    admin: ClusterAdmin

    def broker_cpu(self) -> float:
        return cpu_seconds(self.cluster.broker.pid)

    def bookies_cpu(self) -> float:
        return sum(cpu_seconds(bookie.pid) for bookie in self.cluster.bookies)

    def read_job(self, topic: str, read_from: str, **options: object) -> dict[str, object]:
        given = {"admin_url": self.cluster.admin_url, "read_from": read_from, **options}
        return {"service_url": self.cluster.service_url, "topic": topic, "options": given}


def payloads(count: int, mean_bytes: int) -> list[bytes]:
    """Return JSON objects with words and random numbers; LZ4 shrinks batches of them to about a third of their size."""
    random_numbers = random.Random(1)
    found = []
    for number in range(count):
        words: list[str] = []
        while sum(map(len, words)) + len(words) < mean_bytes - 110:
            words.append(random_numbers.choice(_WORDS) + str(random_numbers.randrange(100)))
        found.append(
            f'{{"id": {number}, "user": "user-{random_numbers.randrange(10**6)}", "amount": '
            f'{random_numbers.random() * 1000:.6f}, "ts": {1_795_000_000_000 + number}, "flag": true, '
            f'"text": "{" ".join(words)}"}}'.encode()
        )
    return found


def fill(
    servers: Servers, topic: str, rows: int, values: list[bytes], *, partitions: int, batched: bool
) -> None:
    """Fill a topic with the official client, round robin over the partitions, and close all ledgers."""
    servers.admin.create_partitioned(topic, partitions)
    client = official.Client(
        servers.cluster.service_url, logger=official.ConsoleLogger(official.LoggerLevel.Error), io_threads=2
    )
    names = [f"{topic}-partition-{number}" for number in range(partitions)]
    share = rows // partitions
    for name in names:
        producer = client.create_producer(
            name,
            batching_enabled=batched,
            batching_max_messages=1000,
            batching_max_allowed_size_in_bytes=4 << 20,
            batching_max_publish_delay_ms=10_000,
            max_pending_messages=20_000,
            block_if_queue_full=True,
            compression_type=official.CompressionType.LZ4,
        )
        for number in range(share):
            producer.send_async(values[number % len(values)], None)
        producer.flush()
        producer.close()
    client.close()
    for name in names:
        servers.admin.roll(name)


def fill_ledgers(
    servers: Servers,
    topic: str,
    *,
    ledgers: int,
    entries: int,
    rows: int,
    seconds: float,
    values: list[bytes],
) -> None:
    """Write `ledgers` ledgers with `entries` entries of `rows` rows, each open for about `seconds` seconds.

    The broker begins a new ledger after `entries` entries. Each entry waits for the receipt of the previous entry,
    so that no entry is stored long after its publish time.
    """
    options = WriteOptions(
        service_url=servers.cluster.service_url,
        topic=topic,
        batching_max_messages=rows,
        batching_max_bytes=4 << 20,
        compression_type="LZ4",
        max_pending_bytes=1,
    )
    column = pa.array([values[number % len(values)] for number in range(rows)], pa.binary())
    entry = pa.RecordBatch.from_arrays([column], names=["value"])

    def paced() -> Iterator[pa.RecordBatch]:
        begin = time.monotonic()
        for number in range(ledgers * entries):
            time.sleep(max(0.0, begin + number * seconds / entries - time.monotonic()))
            yield entry

    servers.admin.create(topic)
    stored = write_rows(options, settle_target(options, entry.schema), paced())
    assert stored == ledgers * entries * rows, stored


def closed_ledgers(servers: Servers, topic: str) -> list[Mapping[str, int]]:
    """Return closed ledgers, oldest first, with `ledgerId`, `entries`, `size`, and the closing time `timestamp`."""
    path = "persistent/" + topic.removeprefix("persistent://") + "/internal-info"
    found = servers.admin.request("GET", path).json()["ledgers"]
    return sorted((each for each in found if each.get("entries")), key=lambda each: each["ledgerId"])
