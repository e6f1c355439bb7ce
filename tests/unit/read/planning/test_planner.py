"""What a planner remembers of ledgers, against a server that answers as the admin REST API does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ledgers import known_ledgers
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.topic import TopicPartition

A = TopicPartition.parse("a")
NO_BROKER: Any = None


class Topic:
    """Its ledgers: ids and numbers of entries; the last is open."""

    def __init__(self) -> None:
        self.ledgers: list[tuple[int, int]] = []
        self.status = 200
        self.asked = 0

    def answer(self, path: str) -> dict[str, Any]:
        self.asked += 1
        *closed, (last, written) = self.ledgers
        if path.endswith("internal-info"):
            known = [
                {"ledgerId": number, "entries": entries, "timestamp": number} for number, entries in closed
            ]
            return {"ledgers": [*known, {"ledgerId": last, "timestamp": 99}]}
        every = [{"ledgerId": number, "entries": entries, "size": entries} for number, entries in closed]
        return {
            "state": "LedgerOpened",
            "currentLedgerEntries": written,
            "currentLedgerSize": written,
            "ledgers": [*every, {"ledgerId": last, "entries": 0, "size": 0}],
        }


@pytest.fixture
def topic() -> Topic:
    return Topic()


@pytest.fixture
def planner(topic: Topic) -> Iterator[SplitPlanner]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(topic.answer(self.path)).encode()
            self.send_response(topic.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = ReadOptions(
        service_url="pulsar://x:6650",
        admin_url=f"http://127.0.0.1:{server.server_port}",
        topic="a",
        read_from="broker",
        operation_timeout_ms=1_000,
    )
    with AdminClient(options) as admin:
        yield SplitPlanner(options, NO_BROKER, admin)
    server.shutdown()
    server.server_close()


def test_a_stream_that_waits_sees_its_ledger_closed_before_retention_removes_it(
    topic: Topic, planner: SplitPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_ledgers, "_LOOK_AGAIN_SECONDS", -1.0)
    for topic.ledgers in ([(5, 10)], [(5, 10), (8, 0)], [(8, 0)]):
        planner.keep_up([A])
    topic.ledgers = [(8, 3)]
    (found,) = planner.plan([RangeRequest(A, Position(5, 10), Position(8, 3))])
    assert [(split.start, split.end) for split in found.splits] == [(Position(5, 10), Position(8, 3))]
    with pytest.raises(DataLossError, match=r"\(1 entries\)"):
        planner.plan([RangeRequest(A, Position(5, 9), Position(8, 3))])


def test_without_having_seen_it_nobody_knows(topic: Topic, planner: SplitPlanner) -> None:
    topic.ledgers = [(5, 10)]
    planner.keep_up([A])
    topic.ledgers = [(8, 3)]
    with pytest.raises(DataLossError):
        planner.plan([RangeRequest(A, Position(5, 10), Position(8, 3))])


def test_a_look_is_rare_and_may_fail(topic: Topic, planner: SplitPlanner) -> None:
    topic.ledgers = [(5, 10)]
    topic.status = 403
    for _ in range(3):
        planner.keep_up([A])
    assert topic.asked == 2, "for both lists, once"


def test_of_many_partitions_the_first_refusal_is_enough(topic: Topic, planner: SplitPlanner) -> None:
    topic.ledgers = [(5, 10)]
    topic.status = 403
    planner.keep_up([TopicPartition(A.topic, index) for index in range(100)])
    assert topic.asked < 30, "those that were asked already, and not 200"
