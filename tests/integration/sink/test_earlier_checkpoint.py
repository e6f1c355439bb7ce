"""A query of an earlier version goes on: its checkpoint and its journal are planted as that version wrote them.

`earlier_checkpoint.json` holds both. The ids of its ledgers are exchanged for those of the planted topics.
The query had decided its third epoch and died before Spark noted it: Spark plans that epoch again.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pulsar as official_client
from integration.official import JavaClient
from pyspark.sql import SparkSession

from pyspark_pulsar.standalone import LocalPulsar

_EARLIER: dict[str, Any] = json.loads(
    Path(__file__).with_name("earlier_checkpoint.json").read_text(encoding="utf-8")
)
_SOURCE: str = _EARLIER["source"]["topic"]
_SINK = "persistent://public/default/earlier-sink"
_KEY = "k"
_DECIDED, _ROWS = 30, 40


def plant(official: official_client.Client, topic: str, payloads: list[str]) -> int:
    """One entry for each payload; returns the id of the ledger that holds them."""
    producer = official.create_producer(topic, batching_enabled=False)
    ledgers = {producer.send(payload.encode(), partition_key=_KEY).ledger_id() for payload in payloads}
    producer.close()
    (ledger,) = ledgers
    return int(ledger)


class Ledgers:
    """Positions of earlier ledgers, as those of the planted ones."""

    def __init__(self) -> None:
        # By the id of an earlier ledger: the planted one, and the earlier entries that were messages, in order.
        self._planted: dict[int, tuple[int, list[int]]] = {}

    def add(self, earlier: int, planted: int, entries: list[int]) -> None:
        self._planted[earlier] = planted, entries

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self(inner) for name, inner in value.items()}
        if not isinstance(value, str) or value.count(":") != 2 or not value.replace(":", "").isdigit():
            return value
        earlier, entry, index = map(int, value.split(":"))
        planted, entries = self._planted[earlier]
        return f"{planted}:{sum(before < entry for before in entries)}:{index}"


def plant_journal(official: official_client.Client, ledgers: Ledgers) -> None:
    """Decisions last: they hold positions in the topics of begun and ended transactions."""
    decided = next(topic for topic in _EARLIER["journal"] if topic.endswith("-decided"))
    for topic, journal in sorted(_EARLIER["journal"].items(), key=lambda item: item[0] == decided):
        producer = official.create_producer(topic, batching_enabled=False)
        for number, entry in enumerate(journal["records"]):
            record = json.dumps(ledgers(entry["record"]), separators=(",", ":"))
            sent = producer.send(record.encode())
            if number == 0:
                entries = [of["entry"] for of in journal["records"]]
                ledgers.add(journal["ledger"], sent.ledger_id(), entries)
        producer.close()


def plant_checkpoint(folder: Path, ledgers: Ledgers) -> None:
    for name, lines in _EARLIER["checkpoint"].items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            "\n".join(line if isinstance(line, str) else json.dumps(ledgers(line)) for line in lines),
            encoding="utf-8",
        )


def test_a_query_of_an_earlier_version_goes_on(
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    java_client: JavaClient,
    tmp_path: Path,
) -> None:
    """The rows of the decided epoch come again, and are known by the digest that the earlier version wrote."""
    numbers, ledgers = [str(number) for number in range(_ROWS)], Ledgers()
    ledgers.add(_EARLIER["source"]["ledger"], plant(official, _SOURCE, numbers), list(range(_ROWS)))
    plant(official, _SINK, numbers[:_DECIDED])
    plant_journal(official, ledgers)
    plant_checkpoint(tmp_path, ledgers)

    connection = {"service.url": pulsar.service_url}
    reader = spark.readStream.format("pulsar").options(**connection, topic=_SOURCE)
    rows = reader.options(startingOffsets="earliest", maxRecordsPerTrigger="10").load()
    writer = rows.selectExpr("cast(value as string) value", "cast(__key as string) __key").writeStream
    writer = writer.format("pulsar").options(**connection, topic=_SINK, deliveryGuarantee="exactly-once")
    query = writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path)).start()
    query.awaitTermination()

    sunk = java_client.read(_SINK, "STRING")
    assert [row["value"] for row in sunk] == numbers
    assert [base64.b64decode(row["keyBytes"]) for row in sunk] == [_KEY.encode()] * _ROWS
    assert sorted(int(file.name) for file in (tmp_path / "commits").glob("[0-9]*")) == [0, 1, 2, 3]
