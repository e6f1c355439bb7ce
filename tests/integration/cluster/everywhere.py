"""Topics whose ledgers are in all locations, and their contents by the broker's own account.

In the order of the stream, these are: ledgers in S3 whose copies on bookies are deleted; ledgers in the
file system; ledgers on two bookies with a change of bookies in the middle (each entry on both); ledgers
striped over three bookies; the open ledger, which ends with an open transaction.

Brokers read all offloaded ledgers of a topic from where the namespace offloads to now. So the ledgers in
the file system keep their copies on bookies here: otherwise, there would be nothing to compare with.
(`test_cluster` has a topic that is in the file system alone.)
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pulsar as official_client
from fixtures.cluster.configuration import ENTRIES_PER_LEDGER
from fixtures.cluster.pulsar_cluster import PulsarCluster
from fixtures.key_pair import KeyPair, new_key_pair
from integration.cluster import mixture
from integration.cluster.administration import ClusterAdmin
from integration.cluster.ranges import Row, cluster_options, rows_by_partition
from integration.official import SPECIAL_MESSAGES, JavaClient
from integration.raw_producer import RawProducer

from pyspark_pulsar.model.position import Position

NAMESPACE = "public/everywhere"
PLAIN = f"persistent://{NAMESPACE}/plain"
PARTED = f"persistent://{NAMESPACE}/parted"
PARTITIONS = [PLAIN, f"{PARTED}-partition-0", f"{PARTED}-partition-1"]
PIECES = [b"first ", b"second ", b"third "]
DECRYPTION = "pulsar.consumer.cryptoKeyReader.defaultPrivateKey"

BUCKET, FOLDER, TWO_BOOKIES, THREE_BOOKIES, OPEN = "bucket", "folder", "two bookies", "three bookies", "open"


@dataclass(frozen=True)
class Everywhere:
    """The rows and ledgers of the topics.

    `rows` are all rows of a partition by its name, in order, read through the broker. `places` are the
    ledgers of a partition by its name, and the locations of each ledger.
    """

    keys: KeyPair
    rows: dict[str, list[Row]]
    places: dict[str, dict[int, str]]

    def options(self, cluster: PulsarCluster, topic: str, **more: str) -> dict[str, str]:
        """Return `cluster_options`, and the options that the encrypted messages need."""
        return {**cluster_options(cluster, topic, **more), DECRYPTION: self.keys.private}

    def ledgers(self, name: str, *places: str) -> list[int]:
        """Return the ledgers of the partition that are in one of these locations, in order."""
        return [ledger for ledger, place in sorted(self.places[name].items()) if place in places]

    def between(self, name: str, start: Position, end: Position) -> list[Row]:
        """Return the rows from `start` (inclusive) to `end` (exclusive)."""
        return [row for row in self.rows[name] if start <= row[0] < end]


class Builder:
    """Writes the topics, phase by phase; a phase ends with its ledgers. Takes about a minute."""

    def __init__(
        self, cluster: PulsarCluster, admin: ClusterAdmin, client: official_client.Client, folder: Path
    ) -> None:
        self._cluster = cluster
        self._admin = admin
        self._client = client
        self._java = JavaClient(cluster, SPECIAL_MESSAGES)
        self._keys = new_key_pair(folder)
        self._rng = random.Random(20261121)
        self._firsts: dict[str, dict[str, int]] = {name: {} for name in PARTITIONS}

    def build(self) -> Everywhere:
        """Write the topics, and return them.

        A topic gets its namespace's policies when it is loaded, which also begins a new ledger.
        """
        admin = self._admin
        admin.create_namespace(NAMESPACE)
        admin.offload_to_bucket(NAMESPACE)
        admin.create(PLAIN)
        admin.create_partitioned(PARTED, 2)
        with RawProducer(self._cluster.service_url, PLAIN) as raw:
            raw.chunk("over places", 0, PIECES)
            self._new_ledgers(BUCKET)
            self._every_codec()
            raw.chunk("over places", 1, PIECES)

            self._new_ledgers(FOLDER)
            for ledger in self._offload_all():
                self._cluster.await_deleted(ledger)
            admin.offload_to_folder(NAMESPACE, keep_on_bookies=True)
            self._java_and_encrypted()
            raw.chunk("over places", 2, PIECES)

            admin.set_ensemble(NAMESPACE, 2, 2)
            self._new_ledgers(TWO_BOOKIES)
            self._offload_all()
            admin.offload_to_bucket(NAMESPACE, keep_on_bookies=True)
            self._with_a_dying_bookie()

            admin.set_ensemble(NAMESPACE, 3, 2)
            raw.chunk("interleaved", 0, PIECES)
            self._new_ledgers(THREE_BOOKIES)
            self._java_and_encrypted()
            raw.chunk("interleaved", 1, PIECES)
            raw.chunk("interleaved", 2, PIECES)
        self._java.run(mixture.open_end(PLAIN, self._rng), mixture.open_end(PARTED, self._rng))
        for name in PARTITIONS:
            self._fill_open_ledger(name)
        rows = {
            name: found
            for topic in (PLAIN, PARTED)
            for name, found in rows_by_partition(self._options(topic)).items()
        }
        return Everywhere(self._keys, rows, {name: self._places(name) for name in PARTITIONS})

    def _fill_open_ledger(self, name: str) -> None:
        """Send messages until the open ledger has some, but is not full."""
        producer = self._client.create_producer(name)
        while not 0 < self._admin.open_entries(name) < ENTRIES_PER_LEDGER:
            producer.send(b"open end")
        producer.close()

    def _options(self, topic: str) -> dict[str, str]:
        options = cluster_options(self._cluster, topic, readFrom="broker")
        return {**options, DECRYPTION: self._keys.private}

    def _new_ledgers(self, place: str) -> None:
        """Begin new ledgers, which will be in this location."""
        for name in PARTITIONS:
            self._firsts[name][place] = self._admin.roll(name)

    def _offload_all(self) -> list[int]:
        """Offload the closed ledgers that are on bookies only, and return them."""
        return [ledger for name in PARTITIONS for ledger in self._admin.offload(name)]

    def _every_codec(self) -> None:
        for topic in (PLAIN, PARTED):
            mixture.produce_every_codec(self._client, topic, self._rng)

    def _java_and_encrypted(self) -> None:
        jobs = [
            make(topic, self._rng)
            for topic in (PLAIN, PARTED)
            for make in (mixture.transactions, mixture.chunks)
        ]
        self._java.run(*jobs)
        for topic in (PLAIN, PARTED):
            mixture.produce_encrypted(self._client, topic, self._keys, self._rng)

    def _with_a_dying_bookie(self) -> None:
        self._every_codec()
        with self._cluster.without(self._admin.ensemble(PLAIN)[0]):
            self._every_codec()

    def _places(self, name: str) -> dict[int, str]:
        firsts = self._firsts[name]
        ledgers = self._admin.ledgers(name)
        found = {
            each.ledger: next(place for place, first in reversed(firsts.items()) if each.ledger >= first)
            for each in ledgers
            if each.ledger >= firsts[BUCKET]
        }
        # The ledger before the first phase holds one chunk, and moves with the others.
        found |= {each.ledger: BUCKET for each in ledgers if each.ledger < firsts[BUCKET]}
        found[ledgers[-1].ledger] = OPEN
        for each in ledgers:
            assert each.offloaded == (found[each.ledger] in {BUCKET, FOLDER}), (name, each)
        changed = [each for each in ledgers if found[each.ledger] == TWO_BOOKIES and each.ensembles > 1]
        assert changed or name != PLAIN, "no ledger has a second ensemble"
        return found
