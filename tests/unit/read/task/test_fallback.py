"""A range whose direct read ends early continues at the broker. Messages that were removed by then are a reported loss.

The entries are real, but they come from lists instead of sockets. tests/integration/cluster tests Pulsar's behavior.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given as given_values, strategies as st

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.policy import TieredStore
from pyspark_pulsar.codec.intake import TransactionsUnknown
from pyspark_pulsar.errors import (
    ColumnsUnavailable,
    ConnectionFailed,
    CorruptEntryError,
    DamagedCopy,
    DataLossError,
    DeadlineExceeded,
    LedgerUnavailable,
    OptionError,
    PermissionDenied,
    PrerequisiteMissing,
)
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.reading.rows import RowBatch, TableRows
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import Location, PartitionAccess
from pyspark_pulsar.read.sources import broker as broker_module
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.columns import FromColumns
from pyspark_pulsar.read.sources.compacted import FromCompactedLedger
from pyspark_pulsar.read.sources.offloaded import FromTieredStorage
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task import fallback, place_health
from pyspark_pulsar.read.task.audit import SplitAudit
from pyspark_pulsar.read.task.fallback import RangeReader
from pyspark_pulsar.read.task.loss_check import skipped_entries
from pyspark_pulsar.read.task.place_health import LocationHealth

PARTITION = TopicPartition.parse("persistent://public/default/t")
SEVEN = Ledger(7, 10, 1000, None, 1)
Run = tuple[int, int, int]
"""Ledger, first and last entry."""


def batches_of(runs: list[Run | Exception]) -> Generator[EntryBatch, None, None]:
    for run in runs:
        if isinstance(run, Exception):
            raise run
        ledger, first, last = run
        batch = EntryBatch()
        for entry in range(first, last + 1):
            batch.push(ledger, entry, b"")
        yield batch


class Reads:
    """The entries that readers return, and the ledgers that the admin REST API lists by then."""

    def __init__(self, patch: pytest.MonkeyPatch, listed: list[int], status: int = 200) -> None:
        self._patch = patch
        self.asked = 0
        self.bookies = ["127.0.0.1:1"]
        reads = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reads.asked += 1
                body = json.dumps(
                    {
                        "ledgers": [{"ledgerId": each} for each in listed],
                        "bookies": [{"bookieId": each} for each in reads.bookies],
                    }
                ).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def read(
        self,
        location: Location,
        direct: list[Run | Exception],
        broker: list[Run | Exception],
        *,
        by_broker: bool = False,
        bookies: list[Run | Exception] | None = None,
        again: Callable[[int, int], Generator[EntryBatch, None, None]] | None = None,
        **options: Any,
    ) -> list[tuple[int, int]]:
        """Read a range.

        `bookies` contains the runs that bookies return if `location` is another one. `again` is called when `location`
        is read once more.
        """

        gave_up: list[Location] = []

        def stored(
            place: Location, _: PartitionAccess, first: int, last: int
        ) -> Generator[EntryBatch, None, None]:
            if place is not location and bookies is not None:
                return batches_of(bookies)
            if place in gave_up and again is not None:
                return again(first, last)
            gave_up.append(place)
            return batches_of(direct)

        for kind in (FromBookies, FromTieredStorage):
            self._patch.setattr(kind, "stored_entries", stored)
        self._patch.setattr(FromCompactedLedger, "open", lambda *_: batches_of(direct))
        self._patch.setattr(broker_module, "BrokerEntries", lambda *_, **__: batches_of(broker))
        split_range = SplitRange(Position(7, 0), Position(7, 10), location)
        audit = SplitAudit(Split(PARTITION, split_range.start, split_range.end, (split_range,)))
        given_options = ReadOptions(service_url="pulsar://x:6650", topic="t", admin_url=self.url, **options)
        found: list[tuple[int, int]] = []
        client: Any = None
        reader = RangeReader(PartitionAccess(given_options, PARTITION, client), audit)
        for batch in reader.broker_entries(split_range) if by_broker else reader.entries(split_range):
            assert batch.first is not None
            found += [(batch.first[0], batch.first[1] + index) for index in range(len(batch))]
        if not by_broker:
            audit.check()
        return found

    def table_rows(self, table: FromColumns, broker: list[Run | Exception]) -> int:
        """Return the number of rows that arrive for ten entries, each a row, that are planned to come from `table`."""
        self._patch.setattr(broker_module, "BrokerEntries", lambda *_, **__: batches_of(broker))
        split_range = SplitRange(Position(7, 0), Position(7, 10), table)
        audit = SplitAudit(Split(PARTITION, split_range.start, split_range.end, (split_range,)))
        options = ReadOptions(service_url="pulsar://x:6650", topic="t", admin_url=self.url)
        client: Any = None
        request: Any = None
        make_decoder: Any = lambda *_: OneRowEach()  # noqa: E731
        reader = RangeReader(PartitionAccess(options, PARTITION, client), audit)
        count = sum(rows.num_rows for rows in reader.rows(split_range, request, make_decoder))
        audit.check()
        return count


class OneRowEach:
    def decode(self, entries: EntryBatch) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([pa.array(range(len(entries)))], ["entry"])

    def finish(self) -> Iterator[pa.RecordBatch]:
        yield from ()


Make = Callable[..., Reads]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    made: list[Reads] = []

    def start(listed: list[int], status: int = 200) -> Reads:
        made.append(Reads(monkeypatch, listed, status))
        return made[-1]

    yield start
    for each in made:
        each.close()


ALL = [(7, entry) for entry in range(10)]
GONE = LedgerUnavailable("no bookie has it")
DAMAGED = DamagedCopy("bytes are damaged")
BOOKIES = FromBookies(SEVEN)
TIERED = FromTieredStorage(SEVEN, TieredStore("s3://b"))


def test_the_broker_continues_after_the_last_entry(make: Make) -> None:
    reads = make([7, 8])
    assert reads.read(BOOKIES, [(7, 0, 3), GONE], [(7, 2, 9), (8, 0, 0)]) == ALL
    assert reads.asked == 0
    # Brokers do not send markers, so a missing marker is no loss while the ledger exists.
    assert reads.read(BOOKIES, [(7, 0, 3), GONE], [(7, 4, 8), (8, 0, 0)]) == ALL[:9]
    assert reads.asked == 1


@pytest.mark.parametrize(
    "fault",
    [ConnectionFailed("x"), CorruptEntryError("x"), OptionError("x"), PrerequisiteMissing("no obstore")],
)
def test_the_broker_continues_after_any_fault_of_a_direct_read(make: Make, fault: Exception) -> None:
    assert make([7, 8]).read(BOOKIES, [(7, 0, 3), fault], [(7, 4, 9)]) == ALL


@pytest.mark.parametrize("by_broker", [False, True], ids=["the reader failed", "transactions are not known"])
def test_a_ledger_that_was_deleted_after_planning_is_a_loss(
    make: Make, by_broker: bool, caplog: pytest.LogCaptureFixture
) -> None:
    reads = make([8])
    with pytest.raises(DataLossError, match=r"entries \d to 9 of ledger 7 .*since the read was planned"):
        reads.read(BOOKIES, [(7, 0, 3), GONE], [(8, 0, 0)], by_broker=by_broker)
    with caplog.at_level(logging.WARNING):
        found = reads.read(
            BOOKIES, [(7, 0, 3), GONE], [(8, 0, 0)], by_broker=by_broker, fail_on_data_loss=False
        )
    assert found == ([] if by_broker else ALL[:4])
    assert "of ledger 7" in caplog.text


def test_a_revoked_permission_hides_no_loss(make: Make) -> None:
    with pytest.raises(PermissionDenied):
        make([7], status=403).read(BOOKIES, [GONE], [(8, 0, 0)])
    assert make([7], status=403).read(FromBroker(), [], [(8, 0, 0)]) == []


def test_a_broker_s_ledger_that_was_removed_before_its_first_entry_arrived_is_a_loss(make: Make) -> None:
    for came in ([(8, 0, 0)], []):
        with pytest.raises(DataLossError, match=r"messages from 7:0:0 on in ledger 7.*retention"):
            make([8]).read(FromBroker(), [], came)
        assert make([8]).read(FromBroker(), [], came, fail_on_data_loss=False) == []
        assert make([7, 8]).read(FromBroker(), [], came) == []
    reads = make([8])
    assert reads.read(FromBroker(), [], [(7, 0, 8), (8, 0, 0)]) == ALL[:9]
    assert reads.read(FromBroker(), [], [(8, 0, 0)], read_compacted=True) == []
    assert reads.asked == 0


def test_a_broker_s_ledger_that_is_removed_while_it_is_read_is_a_loss(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    came: list[Run | Exception] = [(7, 0, 3), (9, 0, 0)]
    with pytest.raises(
        DataLossError, match=r"expected 10 entries from 7:0:0 up to 7:10:0, got 4, but retention"
    ):
        make([9]).read(FromBroker(10), [], came)
    assert make([9]).read(FromBroker(10), [], came, fail_on_data_loss=False) == ALL[:4]
    # Entries that consumers do not see are missing as well, but then the ledger exists.
    assert make([7, 9]).read(FromBroker(10), [], came) == ALL[:4]
    whole = make([9])
    assert whole.read(FromBroker(10), [], [(7, 0, 9)]) == ALL
    assert whole.asked == 0
    with caplog.at_level(logging.WARNING):
        found = make([9], status=500).read(FromBroker(10), [], came, operation_timeout_ms=1)
    assert found == ALL[:4]
    assert "got 4; it is unknown whether its ledgers still exist" in caplog.text


def test_a_truncated_topic_is_a_loss_that_an_option_allows(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    ends = DataLossError("the topic now ends at 7:4")
    with pytest.raises(DataLossError, match="now ends"):
        make([7]).read(FromBroker(), [], [(7, 0, 3), ends])
    with caplog.at_level(logging.WARNING):
        assert make([7]).read(FromBroker(), [], [(7, 0, 3), ends], fail_on_data_loss=False) == ALL[:4]
    assert "now ends at 7:4. failOnDataLoss=false" in caplog.text


@pytest.mark.parametrize("read_from", ["bookie", "tiered"])
@pytest.mark.parametrize(("status", "fail"), [(200, True), (200, False), (403, True), (500, True)])
def test_the_fault_of_a_named_location_is_raised(make: Make, read_from: str, status: int, fail: bool) -> None:
    reads = make([7], status=status)
    with pytest.raises(LedgerUnavailable, match="no bookie has it"):
        reads.read(
            BOOKIES,
            [(7, 0, 3), GONE],
            [(7, 4, 9)],
            read_from=read_from,
            fail_on_data_loss=fail,
            operation_timeout_ms=1,
        )


@pytest.mark.parametrize(("read_from", "location"), [("bookie", BOOKIES), ("tiered", TIERED)])
def test_a_deleted_ledger_of_a_named_location_is_a_loss(
    make: Make, read_from: str, location: Location, caplog: pytest.LogCaptureFixture
) -> None:
    direct = [(7, 0, 3), GONE]
    with pytest.raises(DataLossError, match=r"entries 4 to 9 of ledger 7 \(6 entries\).*retention"):
        make([8]).read(location, direct, [(7, 4, 9)], read_from=read_from)
    with caplog.at_level(logging.WARNING):
        found = make([8]).read(location, direct, [], read_from=read_from, fail_on_data_loss=False)
    assert found == ALL[:4]
    assert "(6 entries)" in caplog.text


def test_a_removed_compacted_view_is_no_loss(make: Make) -> None:
    """A new view has replaced the removed one."""
    with pytest.raises(LedgerUnavailable, match="no bookie has it"):
        make([8]).read(FromCompactedLedger(SEVEN), [GONE], [], read_from="bookie", read_compacted=True)


def test_an_offloaded_ledger_is_read_from_bookies_before_the_broker(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert make([7]).read(TIERED, [(7, 0, 3), DAMAGED], [GONE], bookies=[(7, 4, 9)]) == ALL
    rest = (
        "Reading the rest of a range from {}, because reading it from {} failed: {}; from {} up to 7:10:0 of"
    )
    assert rest.format("bookies", "tiered", DAMAGED, "7:4:0") in caplog.text
    assert "the broker" not in caplog.text
    with caplog.at_level(logging.WARNING):
        found = make([7]).read(TIERED, [(7, 0, 3), DAMAGED], [(7, 7, 9)], bookies=[(7, 4, 6), GONE])
    assert found == ALL
    assert rest.format("the broker", "bookies", GONE, "7:7:0") in caplog.text


def test_an_offloaded_ledger_is_read_from_the_broker_without_bookies(make: Make) -> None:
    reads = make([7])
    reads.bookies = []
    assert reads.read(TIERED, [(7, 0, 3), DAMAGED], [(7, 4, 9)], bookies=[(7, 4, 9)]) == ALL
    assert make([7], status=403).read(TIERED, [DAMAGED], [(7, 0, 9)], bookies=[(7, 0, 9)]) == ALL
    assert make([7]).read(BOOKIES, [(7, 0, 3), GONE], [(7, 4, 9)], bookies=[GONE]) == ALL


def test_a_late_broker_does_not_hide_the_fault_before(make: Make) -> None:
    late = DeadlineExceeded("nothing within 6 s")
    with pytest.raises(DeadlineExceeded, match=r"nothing within 6 s.*from tiered failed: bytes are damaged"):
        make([7]).read(TIERED, [(7, 0, 3), DAMAGED], [late], bookies=[GONE])
    with pytest.raises(DeadlineExceeded, match=r"^nothing within 6 s$"):
        make([7]).read(FromBroker(), [], [late])


def test_a_table_that_fails_after_a_long_time_is_avoided(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback, "LOCATION_HEALTH", LocationHealth())
    monkeypatch.setattr(place_health, "_LONG_SECONDS", 0.0)
    attempts = 0

    def unreachable(*_: Any) -> Generator[RowBatch, None, None]:
        nonlocal attempts
        attempts += 1
        raise ColumnsUnavailable("the store does not answer")
        yield

    monkeypatch.setattr(FromColumns, "rows", unreachable)
    file = DataFile("f", 900, 10, (-1, -1), (1, 1), (7, 7))
    table = FromColumns(TableRows("n.t", pa.schema([]), TableStorage()), (file,))
    reads = make([7, 8])
    assert reads.table_rows(table, [(7, 0, 9)]) == 10
    assert reads.table_rows(table, [(7, 0, 9)]) == 10
    assert attempts == 1
    # No other location has the rows of a removed ledger.
    with pytest.raises(ColumnsUnavailable):
        make([8]).table_rows(table, [])
    assert attempts == 2


def test_a_late_broker_does_not_hide_that_the_table_failed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(*_: Any) -> Generator[RowBatch, None, None]:
        yield RowBatch(pa.record_batch([pa.array(range(4))], ["entry"]), Position(7, 4))
        raise ColumnsUnavailable("the store does not answer")

    monkeypatch.setattr(fallback, "LOCATION_HEALTH", LocationHealth())
    monkeypatch.setattr(FromColumns, "rows", rows)
    file = DataFile("f", 900, 10, (-1, -1), (1, 1), (7, 7))
    table = FromColumns(TableRows("n.t", pa.schema([]), TableStorage()), (file,))
    with pytest.raises(DeadlineExceeded, match=r"within 6 s.*from columns failed: the store does not answer"):
        make([7]).table_rows(table, [DeadlineExceeded("nothing within 6 s")])


def test_entries_that_the_broker_skips_must_be_undamaged_in_the_copy(make: Make) -> None:
    asked: list[tuple[int, int]] = []

    def copy(first: int, last: int) -> Generator[EntryBatch, None, None]:
        asked.append((first, last))
        yield from batches_of([(7, first, last)])

    def damaged_copy(first: int, last: int) -> Generator[EntryBatch, None, None]:
        yield from copy(first, last)
        if first <= 4 <= last:
            raise DAMAGED

    with pytest.raises(DamagedCopy, match=r"bytes are damaged\. The broker, .* has skipped the entry"):
        make([7]).read(TIERED, [(7, 0, 3), DAMAGED], [(7, 5, 9)], bookies=[GONE], again=damaged_copy)
    assert asked == [(4, 4)]
    # The broker has the damaged entry from elsewhere, and the entries that it skips are markers.
    asked.clear()
    given_by_broker: list[Run | Exception] = [(7, 4, 4), (7, 6, 7)]
    found = make([7]).read(TIERED, [(7, 0, 3), DAMAGED], given_by_broker, bookies=[GONE], again=damaged_copy)
    assert found == [*ALL[:5], *ALL[6:8]]
    assert asked == [(5, 5), (8, 9)]
    # The bytes of a missing copy are not known to be damaged.
    asked.clear()
    assert make([7]).read(TIERED, [GONE], [(7, 5, 9)], bookies=[GONE], again=copy) == ALL[5:]
    assert asked == []


@given_values(st.sets(st.integers(0, 12)), st.data())
def test_gaps_contain_each_missing_entry(came: set[int], data: st.DataObject) -> None:
    """Each missing entry is in a gap. A received entry is in a gap only if entries are missing in its run."""
    rest, runs, loose = sorted(came), [], set[int]()
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        run, rest = rest[:size], rest[size:]
        whole = run[-1] - run[0] + 1 == len(run)
        runs.append((run[0], run[-1], whole))
        loose |= set() if whole else set(run)
    parts = list(skipped_entries((0, 12), runs))
    found = [entry for first, last in parts for entry in range(first, last + 1)]
    assert found == sorted(set(range(13)) - came | loose)


def test_the_broker_continues_inside_an_entry_of_an_unknown_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The range begins after the first messages of a batched entry. The outcome of its transaction is unknown."""
    inside = Position(7, 3, 2)
    split_range = SplitRange(inside, Position(7, 10), BOOKIES)
    audit = SplitAudit(Split(PARTITION, inside, split_range.end, (split_range,)))
    starts: list[Position] = []

    def broker(*given_to: Any, **_: Any) -> Generator[EntryBatch, None, None]:
        starts.extend(each for each in given_to if isinstance(each, Position))
        return batches_of([(7, 3, 9)])

    monkeypatch.setattr(FromBookies, "stored_entries", lambda *_: batches_of([(7, 3, 9)]))
    monkeypatch.setattr(broker_module, "BrokerEntries", broker)
    options = ReadOptions(service_url="pulsar://x:6650", topic="t")
    client: Any = None
    reader = RangeReader(PartitionAccess(options, PARTITION, client), audit)
    asked = iter((True, False))

    def decode(entries: EntryBatch) -> Iterator[pa.RecordBatch]:
        if next(asked):
            raise TransactionsUnknown("nobody knows", 7, 3)
        yield from OneRowEach().decode(entries)

    assert sum(batch.num_rows for batch in reader.batches(split_range, decode)) == 7
    audit.check()
    assert starts == [inside, split_range.end]
