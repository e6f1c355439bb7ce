"""Rounds that die, rounds at once, and what must not be cut: nothing is lost, nothing is there twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from integration.official import await_true
from integration.raw_producer import RawProducer
from integration.tier.conftest import DELTA, ENTRIES, ICEBERG, Tier, both_formats

from pyspark_pulsar.history.columnar.iceberg import catalog as iceberg
from pyspark_pulsar.history.columnar.iceberg.table import IcebergTable
from pyspark_pulsar.history.tiering.ledgers import open_chunks
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.write.commit_message import RowsPrepared
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.state import EPOCH_OF_A_JOB, Writer
from pyspark_pulsar.write.target import settle_target

Same = Callable[..., pa.Table]

PROGRAM = Path(__file__).parents[2] / "programs" / "tier_topic.py"


def test_an_open_transaction_over_the_end_of_a_ledger(tier: Tier, same: Same) -> None:
    """What is before it is tiered, what is from its first message on is not; an aborted one is no row."""
    options = parse_options(
        WriteOptions,
        {
            "service.url": tier.server.service_url,
            "topic": tier.topic,
            "deliveryGuarantee": "exactly-once",
            "pulsar.producer.batchingMaxMessages": "1",
        },
    )
    tier.admin.create(tier.topic)

    def job(name: str) -> tuple[ExactlyOnce, list[RowsPrepared]]:
        rows = pa.table({"value": [f"{name} {number}" for number in range(ENTRIES)]})
        delivery = ExactlyOnce(options, JournalName(tier.topic, name), Writer(name, name, tier.topic))
        return delivery, [delivery.write(settle_target(options, rows.schema), iter(rows.to_batches()))]

    jobs = {}
    for name in ("first", "open", "aborted", "last"):
        jobs[name] = job(name)
        if name in ("first", "last"):
            delivery, messages = jobs[name]
            delivery.commit(EPOCH_OF_A_JOB, messages)
    delivery, messages = jobs["aborted"]
    delivery.abort(EPOCH_OF_A_JOB, messages)
    assert tier.run().rows == ENTRIES
    assert same().num_rows == ENTRIES
    delivery, messages = jobs["open"]
    delivery.commit(EPOCH_OF_A_JOB, messages)
    await_true("the commit", lambda: tier.rows(readFrom="broker").num_rows == 3 * ENTRIES)
    tier.roll()
    tier.run()
    assert set(tier.places()) == {"columns"}
    rows = [value.split(" ")[0] for value in same()["value"].to_pylist()]
    assert rows == [name for name in ("first", "open", "last") for _ in range(ENTRIES)]


def test_a_chunked_message_over_the_end_of_a_ledger(
    tier: Tier, same: Same, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send_chunk(producer: RawProducer, number: int, payload: bytes) -> None:
        producer.send(payload, (26, b"u"), (27, 2), (28, 11), (29, number))

    tier.send(range(ENTRIES), batching_enabled=False)
    with RawProducer(tier.server.service_url, tier.topic) as producer:
        send_chunk(producer, 0, b"first ")
        tier.send(range(2 * ENTRIES), batching_enabled=False)
        tier.roll()
        # The message begins in the second ledger.
        assert tier.run().rows == ENTRIES
        assert tier.run().rows == 0
        same()
        send_chunk(producer, 1, b"last.")
    tier.roll()
    assert tier.run().rows == 2 * ENTRIES + 1
    tier.trim()
    assert tier.rows()["value"].to_pylist()[-1] == b"first last."
    # One whose producer has died is not waited for for ever.
    with RawProducer(tier.server.service_url, tier.topic) as producer:
        producer.send(b"first ", (26, b"dead"), (27, 2), (28, 11), (29, 0))
    tier.roll()
    assert not tier.run().rounds[-1].parts
    monkeypatch.setattr(open_chunks, "WAIT_MS", 0)
    assert tier.run().rounds[0].parts


@both_formats
def test_two_tierers_at_once(tier: Tier, same: Same) -> None:
    tier.send(range(10 * ENTRIES), batching_enabled=False)
    faults: list[BaseException] = []

    def run() -> None:
        try:
            tier.run()
        except BaseException as fault:  # noqa: BLE001 - whatever it is, the test shows it
            faults.append(fault)

    for _ in range(3):
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tier.send(range(2 * ENTRIES), batching_enabled=False)
    assert not faults, [str(fault) for fault in faults]
    assert same().num_rows == 16 * ENTRIES


def test_commits_that_are_tried_again_would_repeat_rows(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: with pyiceberg's own retries on, two rounds that look at the same state both land."""
    monkeypatch.setitem(iceberg._PROPERTIES, "commit.retry.num-retries", "4")
    tier.send(range(4 * ENTRIES), batching_enabled=False)
    tier.roll()
    plain = IcebergTable.commit
    late: list[Callable[[], None]] = []

    def commit(table: IcebergTable, *arguments: Any) -> None:
        """Another one commits in between."""
        if not late:
            late.append(lambda: None)
            tier.run()
        plain(table, *arguments)

    monkeypatch.setattr(IcebergTable, "commit", commit)
    tier.run()
    assert tier.rows().num_rows == 2 * (4 * ENTRIES)


def test_a_commit_that_comes_too_late(tier: Tier, same: Same, monkeypatch: pytest.MonkeyPatch) -> None:
    tier.send(range(4 * ENTRIES), batching_enabled=False)
    tier.roll()
    plain = IcebergTable.commit
    others: list[int] = []

    def commit(table: IcebergTable, *arguments: Any) -> None:
        if not others:
            others.append(0)
            others[0] = tier.run().rows
        plain(table, *arguments)

    monkeypatch.setattr(IcebergTable, "commit", commit)
    outcome = tier.run()
    assert (others, outcome.rounds[0].is_lost_race, outcome.rows) == ([4 * ENTRIES], True, 0)
    assert same().num_rows == 4 * ENTRIES


@pytest.mark.parametrize(("seed", "catalog"), [(0, ICEBERG), (1, DELTA)], indirect=["catalog"])
def test_a_tierer_that_is_killed(seed: int, tier: Tier, same: Same) -> None:
    """At random moments, by kill -9, while messages come and another one runs."""
    rng = random.Random(seed)
    tier.send(range(5 * ENTRIES), batching_enabled=False)
    sent = 5 * ENTRIES
    command = [sys.executable, str(PROGRAM), json.dumps(tier.texts())]
    for _ in range(6):
        processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
        time.sleep(1.5 + rng.random() * 3)
        for process in processes[: rng.randrange(1, 3)]:
            os.kill(process.pid, signal.SIGKILL)
        tier.send(range(sent, sent + 2 * ENTRIES), batching_enabled=False)
        sent += 2 * ENTRIES
        for process in processes:
            process.wait(180)
    tier.run()
    assert same().num_rows == sent
    assert [row.decode() for row in tier.rows(columns="value")["value"].to_pylist()] == [
        str(n) for n in range(sent)
    ]
