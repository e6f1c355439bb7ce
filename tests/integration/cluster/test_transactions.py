"""Transactions where entries come from bookies: what the broker hides stays hidden, whatever becomes of the topic."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin
from integration.cluster.ranges import rows_of_range, rows_of_split
from integration.official import SPECIAL_MESSAGES, JavaClient, as_base64, await_true

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.transaction_buffer import TransactionOutcomes
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.sources.bookkeeper import FromBookies

Step = dict[str, Any]


def step(end: str | None, *texts: str, **more: Any) -> Step:
    messages = [{"value": as_base64(text.encode())} for text in texts]
    return {"messages": messages, **({} if end is None else {"end": end}), **more}


STEPS = [
    step(None, "plain 1"),
    step("commit", "committed 1", "committed 2"),
    step("abort", "aborted 1", "aborted 2"),
    step(None, "plain 2"),
    step("open", "given up by the coordinator", seconds=10),
    step("commit", "committed 3"),
]
VISIBLE = [b"plain 1", b"committed 1", b"committed 2", b"plain 2", b"committed 3"]


@pytest.fixture
def java(cluster: PulsarCluster) -> JavaClient:
    return JavaClient(cluster, SPECIAL_MESSAGES)  # type: ignore[arg-type]


def options(cluster: PulsarCluster, topic: str, read_from: str, **more: Any) -> ReadOptions:
    return ReadOptions(
        service_url=cluster.service_url, admin_url=cluster.admin_url, topic=topic, read_from=read_from, **more
    )


def values(given: ReadOptions) -> list[bytes]:
    """Return the rows of all splits, after checking that each range has the requested location."""
    splits = plan_batch(given).splits
    if given.read_from == "bookie":
        assert any(
            isinstance(split_range.location, FromBookies) for split in splits for split_range in split.ranges
        )
    return [cells["value"] for split in splits for _, cells in rows_of_split(given, split)]


def await_end(cluster: PulsarCluster, transaction: dict[str, int], topic: str) -> None:
    """Wait until the coordinator has aborted the transaction."""
    name = topic.removeprefix("persistent://")
    path = f"transactions/transactionInBufferStats/{name}/{transaction['most']}/{transaction['least']}"
    with AdminClient(options(cluster, topic, "auto")) as admin:
        await_true("abort by the coordinator", lambda: admin.get(path, "test", version="v3")["aborted"])


@pytest.mark.parametrize("batching", [False, True], ids=["unbatched", "batched"])
def test_bookies_return_the_same_rows_as_the_broker(
    batching: bool, namespace: str, cluster: PulsarCluster, cluster_admin: ClusterAdmin, java: JavaClient
) -> None:
    topic = f"persistent://{namespace}/t"
    ids = java.run({"do": "produce", "topic": topic, "steps": STEPS, "batching": batching})[0]
    await_end(cluster, ids[4], topic)
    cluster_admin.roll(topic)
    # Before its end, nothing of an open transaction is visible, and nothing after its beginning.
    more = [step(None, "plain 3"), step("abort", "aborted 3"), step("open", "open"), step(None, "hidden")]
    java.run({"do": "produce", "topic": topic, "steps": more, "batching": batching})
    cluster_admin.roll(topic)
    expected = [cells for _, cells in rows_of_range(options(cluster, topic, "broker"), EARLIEST, None)]
    assert [row["value"] for row in expected] == [*VISIBLE, b"plain 3"]
    for read_from in ("bookie", "auto"):
        given = options(cluster, topic, read_from)
        found = [cells for split in plan_batch(given).splits for _, cells in rows_of_split(given, split)]
        assert found == expected, read_from
    for rows in (1, 2):
        assert values(options(cluster, topic, "bookie", batch_rows=rows)) == [
            row["value"] for row in expected
        ]


def test_what_a_broker_says_of_transactions(
    namespace: str, cluster: PulsarCluster, cluster_admin: ClusterAdmin, java: JavaClient
) -> None:
    topic = f"persistent://{namespace}/t"
    steps = [*STEPS, step("open", "open")]
    found = java.run({"do": "produce", "topic": topic, "steps": steps})[0]
    await_end(cluster, found[4], topic)
    ids = {number: (each["most"], each["least"]) for number, each in enumerate(found) if each}
    with AdminClient(options(cluster, topic, "auto")) as admin:
        loads: list[str] = []

        def outcomes() -> TransactionOutcomes:
            def load() -> None:
                loads.append(topic)
                rows_of_range(options(cluster, topic, "broker"), EARLIEST, None)

            return TransactionOutcomes(admin, TopicPartition.parse(topic), load)

        expected = {ids[1]: False, ids[2]: True, ids[4]: True, ids[5]: False}
        assert outcomes().aborted(list(expected)) == expected
        with pytest.raises(LedgerUnavailable, match="got an open one"):
            outcomes().aborted([ids[6]])
        assert not loads
        # After loading the topic again, the broker knows only what it has recovered from the snapshot and the
        # markers.
        for _ in range(3):
            cluster_admin.unload(topic)
            assert outcomes().aborted(list(expected)) == expected
        assert len(loads) >= 1


def test_the_topic_is_unloaded_while_it_is_read(
    namespace: str, cluster: PulsarCluster, cluster_admin: ClusterAdmin, java: JavaClient
) -> None:
    topic = f"persistent://{namespace}/t"
    for _ in range(2):
        ids = java.run({"do": "produce", "topic": topic, "steps": STEPS})[0]
        await_end(cluster, ids[4], topic)
        cluster_admin.roll(topic)
    given = options(cluster, topic, "bookie")
    splits = plan_batch(given).splits
    cluster_admin.unload(topic)
    found = [cells["value"] for split in splits for _, cells in rows_of_split(given, split)]
    assert found == VISIBLE * 2


def test_without_an_answer_the_broker_gives_the_rest(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    java: JavaClient,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = f"persistent://{namespace}/t"
    ids = java.run({"do": "produce", "topic": topic, "steps": STEPS})[0]
    await_end(cluster, ids[4], topic)
    cluster_admin.roll(topic)
    planned = plan_batch(options(cluster, topic, "auto")).splits
    assert any(
        isinstance(split_range.location, FromBookies) for split in planned for split_range in split.ranges
    )
    mute = ReadOptions(service_url=cluster.service_url, topic=topic)
    with caplog.at_level(logging.WARNING):
        found = [cells["value"] for split in planned for _, cells in rows_of_split(mute, split)]
    assert found == VISIBLE
    told = [
        record.getMessage() for record in caplog.records if "a message's transaction" in record.getMessage()
    ]
    assert len(told) == 1
    assert "entry 1: expected the outcome of" in told[0]
    assert "Reading entries from the broker up to" in told[0]
    stubborn = ReadOptions(service_url=cluster.service_url, topic=topic, read_from="bookie")
    with pytest.raises(LedgerUnavailable, match=r"admin\.url.*set readFrom to auto or broker"):
        [rows_of_split(stubborn, split) for split in planned]
