"""The procedures `compact` and `offload`, which start work in brokers and query the progress of the work.

The result of each procedure has a row for each topic partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.procedures.signature import WAIT, Answer, Parameter, Procedure, Row
from pyspark_pulsar.client.admin.topic_operations import NOT_RUN, RUNNING
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import CatalogUnsupported, OptionError
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.read.bounds.topics import partitions_of
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import fetch_ledgers

RequestStatus = Callable[[TopicPartition], tuple[str, str]]

_STATUS: Final = {"status": pa.string(), "error": pa.string()}
_KEEP: Final = Parameter(
    "keep_bytes",
    "BIGINT",
    "0",
    "bytes of the newest messages that stay in BookKeeper only, for each partition",
)


def compact(cluster: Cluster, topic: TopicName, *, wait: bool) -> Answer:
    """Start the compaction of a topic.

    Raises:
        CatalogUnsupported: The topic is non-persistent.

    """
    partitions = _partitions(cluster, topic)
    for partition in partitions:
        cluster.admin.operations.compact(partition)
    state = {"topic": str(topic), "partitions": len(partitions), "wait": wait}
    return follow_compaction(cluster, state)


def follow_compaction(cluster: Cluster, state: Mapping[str, Any]) -> Answer:
    """Return the progress of a compaction. `state` is the value of `follow` in the previous answer."""
    partitions = _partitions(cluster, TopicName.parse(state["topic"]))
    rows = [_row(partition, cluster.admin.operations.compaction_status) for partition in partitions]
    return _answer(rows, state)


def offload(cluster: Cluster, topic: TopicName, *, keep_bytes: int, wait: bool) -> Answer:
    """Start to offload the closed ledgers of a topic.

    Raises:
        OptionError: `keep_bytes` is negative.
        CatalogUnsupported: The topic is non-persistent.

    """
    if keep_bytes < 0:
        raise OptionError(f"keep_bytes: expected 0 or more bytes, got {keep_bytes}; correct the value")
    ends: dict[str, int | None] = {}
    known = fetch_ledgers(cluster.admin, _partitions(cluster, topic))
    for partition, ledgers in known.items():
        end = first_kept(ledgers.ledgers, keep_bytes)
        ends[str(partition.index)] = end
        if end is not None:
            cluster.admin.operations.offload(partition, end)
    return follow_offload(cluster, {"topic": str(topic), "ends": ends, "wait": wait})


def follow_offload(cluster: Cluster, state: Mapping[str, Any]) -> Answer:
    """Return the progress of an offload. `state` is the value of `follow` in the previous answer."""
    rows = []
    for partition in _partitions(cluster, TopicName.parse(state["topic"])):
        end = state["ends"].get(str(partition.index))
        if end is None:
            rows.append([partition.index, None, NOT_RUN, None])
            continue
        index, status, error = _row(partition, cluster.admin.operations.offload_status)
        rows.append([index, f"{end}:0:0", status, error])
    return _answer(rows, state)


def first_kept(ledgers: tuple[Ledger, ...], keep_bytes: int) -> int | None:
    """Return the id of the first ledger that must not be offloaded; None if no ledger must be offloaded.

    The last ledger is never offloaded, because producers still write to this ledger. Earlier ledgers also stay in
    BookKeeper, from the newest to the oldest, up to a total size of `keep_bytes`. The total includes the last ledger.
    """
    size = 0
    kept = ledgers[-1].id if ledgers else 0
    for ledger in reversed(ledgers):
        size += ledger.size
        if size > keep_bytes:
            break
        kept = ledger.id
    moved = [ledger for ledger in ledgers if ledger.id < kept and ledger.offload_id is None]
    return kept if moved else None


def _partitions(cluster: Cluster, topic: TopicName) -> list[TopicPartition]:
    if not topic.is_persistent:
        raise CatalogUnsupported(
            f"topic {topic}: expected a persistent topic, got a non-persistent one, which stores no messages; name "
            f"another topic"
        )
    return partitions_of(topic, cluster.client.partition_count(topic))


def _row(partition: TopicPartition, request_status: RequestStatus) -> Row:
    status, error = request_status(partition)
    return [partition.index, status, error or None]


def _answer(rows: list[Row], state: Mapping[str, Any]) -> Answer:
    is_running = any(RUNNING in row for row in rows)
    return Answer(rows, state if is_running and state["wait"] else None)


COMPACT: Final = Procedure(
    "Compacts a topic: a query with readCompacted then reads only the last message of each key. All messages stay.",
    pa.schema({"partition": pa.int32(), **_STATUS}),
    compact,
    (WAIT,),
    follow_compaction,
)
OFFLOAD: Final = Procedure(
    "Copies closed ledgers to tiered storage. The namespace's policy decides when BookKeeper deletes the ledgers.",
    pa.schema({"partition": pa.int32(), "up_to": pa.string(), **_STATUS}),
    offload,
    (_KEEP, WAIT),
    follow_offload,
)
