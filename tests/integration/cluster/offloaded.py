"""Ledgers in tiered storage, and ways in which a copy is not whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import obstore
import pulsar as official_client
from fixtures.cluster import object_store
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin
from integration.cluster.ranges import ALL_COLUMNS, Row, rows_of_range, rows_of_split
from obstore.store import S3Store

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import fetch_ledgers
from pyspark_pulsar.read.planning.placement.offloaded import TieredLedger, tiered_ledgers
from pyspark_pulsar.read.sources.offloaded import FromTieredStorage
from pyspark_pulsar.read.split import Split, SplitRange

KEYS = (("access_key_id", object_store.ACCESS_KEY), ("secret_access_key", object_store.SECRET_KEY))


class Offloaded:
    """A topic whose closed ledgers are in tiered storage."""

    def __init__(self, cluster: PulsarCluster, admin: ClusterAdmin, topic: str) -> None:
        self.endpoint = cluster.s3_endpoint
        self.bucket = S3Store(
            object_store.BUCKET,
            config={**dict(KEYS), "endpoint": self.endpoint, "region": "us-east-1"},  # type: ignore[typeddict-item]
            client_options={"allow_http": True},
        )
        self.topic = topic
        self.partition = TopicPartition.parse(topic)
        self.options = ReadOptions(
            service_url=cluster.service_url,
            admin_url=cluster.admin_url,
            topic=topic,
            read_from="tiered",
            tiered_storage_options=KEYS,
            connection_timeout_ms=10_000,
            operation_timeout_ms=20_000,
            columns=ALL_COLUMNS,
        )
        admin.offload(topic)
        self.objects = {
            ledger: f"{copy}-ledger-{ledger}" for ledger, copy in admin.offload_ids(topic).items()
        }

    @property
    def ledgers(self) -> list[Ledger]:
        with AdminClient(self.options) as admin:
            known = fetch_ledgers(admin, [self.partition])[self.partition].ledgers
        return [ledger for ledger in known if not ledger.is_open]

    def found(self, **changes: object) -> list[TieredLedger]:
        """Return the locations that the planner gets, in order."""
        options = replace(self.options, **changes)  # type: ignore[arg-type]
        with AdminClient(options) as admin:
            found = tiered_ledgers(options, admin, {self.partition: self.ledgers})
        return [found[each] for each in sorted(found, key=lambda key: key[1])]

    def rows(self, copy: TieredLedger, start: int, end: int, read_from: str = "tiered") -> list[Row]:
        """Return the rows of the entries `start` to `end` - 1."""
        ledger, location = copy.ledger.id, FromTieredStorage(copy.ledger, copy.store)
        first, behind = Position(ledger, start), Position(ledger, end)
        split = Split(self.partition, first, behind, (SplitRange(first, behind, location),))
        return rows_of_split(replace(self.options, read_from=read_from), split)

    def broker_rows(self, ledger: int, start: int, end: int) -> list[Row]:
        options = replace(self.options, read_from="broker")
        return rows_of_range(options, Position(ledger, start), Position(ledger, end))


def send(client: official_client.Client, topic: str, values: list[bytes]) -> None:
    producer = client.create_producer(topic, batching_enabled=False)
    for value in values:
        producer.send(value)
    producer.close()


def damage_data(change: Callable[[bytes], bytes]) -> Callable[[Offloaded, str], None]:
    def damage(stored: Offloaded, key: str) -> None:
        found = obstore.get(stored.bucket, key)
        # Brokers read no object without the metadata that offloaders write.
        attributes = found.attributes
        obstore.put(stored.bucket, key, change(found.bytes().to_bytes()), attributes=attributes)

    return damage


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def flip_metadata(data: bytes) -> bytes:
    """Damage the first byte of an entry's metadata, after its checksum (Pulsar's magic number 0e01).

    No broker can parse the metadata then.
    """
    return flip(data, data.rindex(b"\x0e\x01", 0, data.index(b"value 4")) + 2 + 4 + 4)


DAMAGES: dict[str, tuple[Callable[[Offloaded, str], None], str]] = {
    "no index": (
        lambda stored, key: obstore.delete(stored.bucket, f"{key}-index"),
        "the copy does not exist",
    ),
    "no data": (lambda stored, key: obstore.delete(stored.bucket, key), "the copy does not exist"),
    "short data": (damage_data(lambda data: data[:-10]), "instead of"),
    "a flipped bit in an entry": (damage_data(lambda data: flip(data, len(data) - 5)), "checksum mismatch"),
    "a flipped bit in the metadata of an entry": (damage_data(flip_metadata), "checksum mismatch"),
    "a flipped bit in the header": (damage_data(lambda data: flip(data, 25)), "the header of the block"),
    "a flipped bit in the index": (
        lambda stored, key: damage_data(lambda data: flip(data, 0))(stored, f"{key}-index"),
        "expected the magic number",
    ),
}
