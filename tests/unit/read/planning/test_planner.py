"""The ledgers that a planner remembers, with a server that answers like the admin REST API."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import DataLossError, DeadlineExceeded, PermissionDenied
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ledgers import known_ledgers
from pyspark_pulsar.read.planning.ledgers.small_ranges import FEW
from pyspark_pulsar.read.planning.partition_plan import splits_of, with_ledgers
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.read.planning.splits import splitting
from pyspark_pulsar.read.planning.splits.tasks import tasks_of

A = TopicPartition.parse("a")
NO_BROKER: Any = None


class Topic:
    """A topic's ledgers as ids and numbers of entries; the last one is open."""

    def __init__(self) -> None:
        self.ledgers: list[tuple[int, int]] = []
        self.status = 200
        self.delay = 0.0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.paths: list[str] = []
        self.asked = 0

    def answer(self, path: str) -> dict[str, Any]:
        self.asked += 1
        self.paths.append(path)
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
def admin(topic: Topic) -> Iterator[AdminClient]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            topic.may_answer.wait(60)
            time.sleep(topic.delay)
            body = json.dumps(topic.answer(self.path)).encode()
            self.send_response(topic.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with AdminClient(options(admin_url=f"http://127.0.0.1:{server.server_port}")) as admin:
        yield admin
    server.shutdown()
    server.server_close()


@pytest.fixture
def planner(admin: AdminClient) -> SplitPlanner:
    return SplitPlanner(options(), NO_BROKER, admin)


def options(**chosen: Any) -> ReadOptions:
    told = {"topic": "a", "read_from": "broker", "operation_timeout_ms": 60_000}
    return ReadOptions(service_url="pulsar://x:6650", **(told | chosen))


def keep_up(planner: SplitPlanner, partitions: Sequence[TopicPartition] = (A,)) -> None:
    """Run a trigger, and wait for the answers to its requests. The next trigger reads the answers."""
    planner.ledgers.keep_up(partitions)
    wait(planner.ledgers._background.values(), timeout=60)


def test_an_idle_stream_sees_its_ledger_closed_before_retention_removes_it(
    topic: Topic, planner: SplitPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_ledgers, "_REFRESH_SECONDS", -1.0)
    for topic.ledgers in ([(5, 10)], [(5, 10), (8, 0)], [(8, 0)]):
        keep_up(planner)
    topic.ledgers = [(8, 3)]
    (found,) = planner.plan([RangeRequest(A, Position(5, 10), Position(8, 3))])
    assert [(split.start, split.end) for split in found.splits] == [(Position(5, 10), Position(8, 3))]
    with pytest.raises(DataLossError, match=r"\(1 entries\)"):
        planner.plan([RangeRequest(A, Position(5, 9), Position(8, 3))])


def test_a_ledger_that_was_never_seen_closed_counts_as_lost(topic: Topic, planner: SplitPlanner) -> None:
    topic.ledgers = [(5, 10)]
    keep_up(planner)
    topic.ledgers = [(8, 3)]
    with pytest.raises(DataLossError):
        planner.plan([RangeRequest(A, Position(5, 10), Position(8, 3))])


def test_background_lists_are_rare_and_may_fail(topic: Topic, planner: SplitPlanner) -> None:
    topic.ledgers = [(5, 10)]
    topic.status = 403
    for _ in range(3):
        keep_up(planner)
    assert topic.asked in (1, 2), "for one list or both, once"


def test_a_refusal_stops_the_lists_of_many_partitions(topic: Topic, planner: SplitPlanner) -> None:
    topic.ledgers = [(5, 10)]
    topic.status = 403
    keep_up(planner, [TopicPartition(A.topic, index) for index in range(100)])
    assert topic.asked < 30, "those that were asked already, and not 200"


def test_no_trigger_waits_for_background_lists_and_each_partition_has_its_turn(
    topic: Topic, planner: SplitPlanner
) -> None:
    topic.ledgers = [(5, 10)]
    topic.may_answer.clear()
    partitions = [TopicPartition(A.topic, index) for index in range(100)]
    for _ in range(3):
        planner.ledgers.keep_up(partitions)
    assert topic.asked == 0
    topic.may_answer.set()
    for _ in range(100):
        keep_up(planner, partitions)
    assert topic.asked == len(partitions), "each once: of one that has but an open ledger, one list is enough"
    assert all(planner.known_ledgers(partition) is not None for partition in partitions)


def test_a_background_list_that_is_older_than_a_plan_is_dropped(topic: Topic, planner: SplitPlanner) -> None:
    topic.ledgers = [(5, 10)]
    topic.may_answer.clear()
    planner.ledgers.keep_up([A])
    (look,) = planner.ledgers._background.values()
    topic.may_answer.set()
    wait([look], timeout=60)
    topic.ledgers = [(5, 10), (8, 3)]
    planner.plan(WHOLE)
    planner.ledgers.keep_up([A])
    known = planner.known_ledgers(A)
    assert known is not None
    assert [ledger.id for ledger in known.ledgers] == [5, 8]


def from_earliest(count: int, entries: int = 3, **chosen: Any) -> list[RangeRequest]:
    """Return requests for all entries of `count` topic partitions, which are in one ledger."""
    given: dict[str, Any] = {"first": Position(5, 0)} | chosen
    return [
        RangeRequest(TopicPartition(A.topic, index), EARLIEST, Position(5, entries), **given)
        for index in range(count)
    ]


@pytest.mark.parametrize("read_from", ["auto", "broker"])
def test_no_ledgers_of_many_small_ranges_are_listed(topic: Topic, admin: AdminClient, read_from: str) -> None:
    chosen = options(read_from=read_from)
    plans = SplitPlanner(chosen, NO_BROKER, admin).plan(from_earliest(300))
    assert topic.asked == 0
    for plan in plans:
        (split,) = plan.splits
        assert (split.start, split.end, split.from_earliest) == (EARLIEST, Position(5, 3), True)
        assert [(part.start, part.end) for part in split.ranges] == [(Position(5, 0), Position(5, 3))]
        assert split.ranges[0].location.name == "broker"
    assert len(tasks_of(chosen, splits_of(plans))) < 50


def test_a_shown_plan_contains_the_ledgers_that_it_did_not_need(
    topic: Topic, admin: AdminClient, planner: SplitPlanner
) -> None:
    topic.ledgers = [(5, 3)]
    plans = planner.plan(from_earliest(20))
    shown = with_ledgers(admin, plans)
    assert [plan.splits for plan in shown] == [plan.splits for plan in plans]
    assert {ledger.id for plan in shown if plan.ledgers for ledger in plan.ledgers.ledgers} == {5}
    topic.status = 403
    assert with_ledgers(admin, plans) == plans, "to a role that may not see them nothing is shown"


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        ({}, {"count": FEW}),
        ({}, {"entries": 13}),
        ({}, {"first": None}),
        ({}, {"first": Position(4, 0)}),
        ({}, {"window": TimeWindow(published_from=1)}),
        ({"max_records_per_partition": 100_000}, {}),
        ({"min_partitions": 40}, {}),
        ({"max_bytes_per_partition": 1 << 20}, {}),
    ],
)
def test_ledgers_are_listed_if_they_may_change_the_plan(
    topic: Topic,
    admin: AdminClient,
    chosen: dict[str, Any],
    asked: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(splitting, "entry_records", lambda *_: {})
    topic.ledgers = [(5, 20)]
    requests = from_earliest(**({"count": 20} | asked))
    SplitPlanner(options(**chosen), NO_BROKER, admin).plan(requests)
    assert topic.asked == len(requests), "one list of each, which shows that the open ledger is the only one"


def test_ledgers_are_listed_if_a_location_is_named(topic: Topic, admin: AdminClient) -> None:
    topic.ledgers = [(5, 20)]
    SplitPlanner(options(read_from="tiered"), NO_BROKER, admin).plan(from_earliest(20))
    assert topic.asked == 20


WHOLE = [RangeRequest(A, EARLIEST, Position(8, 3))]


@pytest.mark.parametrize("read_from", ["broker", "tiered"])
def test_an_early_list_of_ledgers_serves_the_plan(topic: Topic, admin: AdminClient, read_from: str) -> None:
    topic.ledgers = [(8, 2)]
    planner = SplitPlanner(options(read_from=read_from), NO_BROKER, admin)
    planner.request_early([A])
    (ahead,) = planner.plan(WHOLE)
    assert topic.asked == 1, "the list of one open ledger"
    (fresh,) = SplitPlanner(options(read_from=read_from), NO_BROKER, admin).plan(WHOLE)
    assert topic.asked > 1
    assert ahead.splits == fresh.splits


@pytest.mark.parametrize("why", ["ended behind them", "asked long ago", "messages are gone", "asked since"])
def test_an_early_list_of_ledgers_is_dropped_if_more_is_known(
    topic: Topic, planner: SplitPlanner, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    topic.ledgers = [(5, 10)] if why == "ended behind them" else [(5, 10), (8, 2)]
    planner.request_early([A])
    assert planner.ledgers.listed_ahead([A], 5.0)[A].ledgers[-1].id == topic.ledgers[-1][0]
    topic.ledgers = [(8, 3)]
    if why == "asked long ago":
        monkeypatch.setattr("pyspark_pulsar.read.planning.early_request._SECONDS", -1.0)
    if why == "messages are gone":
        planner.ledgers.forget_ahead([A])
    if why == "asked since":
        monkeypatch.setattr(known_ledgers, "_REFRESH_SECONDS", -1.0)
        for _ in range(2):
            keep_up(planner)
    lost = RangeRequest(A, Position(5, 9), Position(8, 3))
    with pytest.raises(DataLossError):
        planner.plan([lost])


def test_an_early_refusal_is_raised_by_the_plan(topic: Topic, admin: AdminClient) -> None:
    topic.ledgers, topic.status = [(8, 3)], 403
    planner = SplitPlanner(options(read_from="tiered"), NO_BROKER, admin)
    planner.request_early([A])
    with pytest.raises(PermissionDenied):
        planner.plan(WHOLE)
    planner.request_early([A])
    with pytest.raises(PermissionDenied):
        planner.ledgers.listed_ahead([A], 5.0)


def test_no_early_requests_are_sent_for_many_topic_partitions(topic: Topic, planner: SplitPlanner) -> None:
    topic.ledgers = [(8, 3)]
    partitions = [TopicPartition(A.topic, index) for index in range(FEW + 1)]
    planner.request_early(partitions)
    assert planner.ledgers.listed_ahead(partitions, 5.0) == {}
    assert topic.asked == 0


def test_a_late_list_of_ledgers_exceeds_the_deadline(topic: Topic, admin: AdminClient) -> None:
    topic.ledgers, topic.delay = [(8, 3)], 4.0
    hasty = options(admin_url=admin._hosts[0], operation_timeout_ms=1_000)
    with AdminClient(hasty) as hasty_admin:
        planner = SplitPlanner(hasty, NO_BROKER, hasty_admin)
        planner.request_early([A])
        before = time.monotonic()
        with pytest.raises(DeadlineExceeded, match=r"within 0\.1 s"):
            planner.ledgers.listed_ahead([A], 0.1)
        assert time.monotonic() - before < topic.delay


def test_the_striping_is_requested_early_for_a_plan_and_not_for_the_lag(
    topic: Topic, admin: AdminClient
) -> None:
    """Brokers open ledgers to report the striping, and a stream measures its lag often."""
    topic.ledgers = [(5, 10), (8, 2)]
    for is_plan in (False, True):
        planner = SplitPlanner(options(read_from="auto"), NO_BROKER, admin)
        (planner.request_early if is_plan else planner.ledgers.list_ahead)([A])
        assert len(planner.ledgers.listed_ahead([A], 5.0)[A].ledgers) == 2
        assert any("metadata" in path for path in topic.paths) == is_plan
