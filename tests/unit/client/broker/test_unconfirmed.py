"""Messages that are sent again after a connection broke, and conclusions from receipts.

Random schedules break the connection anywhere. A model of brokers and readers has the rules by which they
accept chunks; tests/integration/sink/test_sent_again.py uses the real ones.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from pyspark_pulsar._kernel import EntryBatch, SendFrames
from pyspark_pulsar.client.broker.unconfirmed import NotStored, Unconfirmed
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder, Producing
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/again"
COLUMNS = pa.schema([pa.field("value", pa.binary())])
CHUNK = 700
NO_TIME = 0.0

Fields = dict[int, int | bytes]


def encoder() -> BatchEncoder:
    schema = resolve_write_schema(COLUMNS, None, topic=TOPIC)
    made = BatchEncoder(schema, topic=TOPIC, partitions=1, producing=Producing(chunk_bytes=CHUNK))
    made.set_producer(0, producer_id=0, producer_name="p", next_sequence_id=0, schema_version=None)
    return made


def frames_of(made: BatchEncoder, values: list[bytes]) -> SendFrames:
    (frames,) = made.encode(pa.record_batch([pa.array(values, pa.binary())], schema=COLUMNS), 1)
    return frames


def large(name: int, chunks: int) -> bytes:
    """Return a payload of about this number of chunks."""
    return str(name).encode() + random.Random(name).randbytes(500 * chunks - 100)


def fields_of(message: bytes) -> Fields:
    """Return the fields of a protobuf message; of a repeated field, the last value."""
    fields: Fields = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7:
            size = varint()
            fields[tag >> 3], at = message[at : at + size], at + size
        else:
            fields[tag >> 3] = varint()
    return fields


def number(fields: Fields, key: int) -> int:
    value = fields.get(key, 0)
    assert isinstance(value, int)
    return value


@dataclass(frozen=True)
class Sent:
    """A frame, taken apart."""

    entry: bytes
    metadata: Fields

    @classmethod
    def all_of(cls, data: bytes) -> list[Sent]:
        found = []
        while data:
            total, command = int.from_bytes(data[:4]), int.from_bytes(data[4:8])
            entry, data = data[8 + command : 4 + total], data[4 + total :]
            size = int.from_bytes(entry[6:10])
            found.append(cls(entry, fields_of(entry[10 : 10 + size])))
        return found

    @property
    def first_id(self) -> int:
        return number(self.metadata, 2)

    @property
    def last_id(self) -> int:
        return max(self.first_id, number(self.metadata, 24))

    @property
    def chunk(self) -> tuple[bytes, int, int] | None:
        """Return the message's uuid, the chunk's number, and the number of chunks."""
        uuid = self.metadata.get(26)
        if not isinstance(uuid, bytes):
            return None
        return uuid, number(self.metadata, 29), number(self.metadata, 27)


@dataclass
class Broker:
    """A broker that deduplicates as 4.0.8 does.

    It compares only the last chunk of a message in chunks, and deduplicates only after the topic was
    loaded again.
    """

    deduplicates: bool
    stored: list[Sent] = field(default_factory=list)
    highest: int = -1

    def take(self, sent: Sent) -> bool:
        """Accept a frame; return True if it was stored."""
        inner = sent.chunk is not None and sent.chunk[1] + 1 < sent.chunk[2]
        if self.deduplicates and not inner and sent.first_id <= self.highest:
            return False
        if not inner:
            self.highest = sent.last_id
        self.stored.append(sent)
        return True

    def load(self) -> None:
        if self.stored:
            self.highest = self.stored[-1].last_id


def whole_messages(stored: list[Sent]) -> Counter[bytes]:
    """Return the first bytes of the chunked messages that the C++ client returns; it drops a message with a
    repeated chunk.
    """
    open_messages: dict[bytes, list[bytes]] = {}
    found: Counter[bytes] = Counter()
    for sent in stored:
        if sent.chunk is None:
            continue
        uuid, index, count = sent.chunk
        chunks = open_messages.get(uuid)
        if chunks is None and index == 0:
            chunks = open_messages[uuid] = []
        if chunks is None or index != len(chunks):
            open_messages.pop(uuid, None)
            continue
        chunks.append(sent.entry)
        if len(chunks) == count:
            del open_messages[uuid]
            found[uuid.rpartition(b"-")[0]] += 1
    return found


def rows(stored: list[Sent]) -> list[bytes]:
    """Return the messages as this package reads them."""
    decoder = EntryDecoder(
        resolve_read_schema(None, topic=TOPIC, columns=["value"]),
        topic=TOPIC, partition=-1, fetch_schema=lambda _: None,
    )  # fmt: skip
    entries = EntryBatch()
    for index, sent in enumerate(stored):
        entries.push(1, index, sent.entry)
    return [
        row["value"] for each in [*decoder.decode(entries), *decoder.finish()] for row in each.to_pylist()
    ]


@dataclass
class Schedule:
    """Run a producer at random: sends, late receipts, connections that break, topics that move."""

    rng: random.Random
    broker: Broker
    unconfirmed: Unconfirmed
    breaks: float
    in_flight: list[Sent] = field(default_factory=list)
    receipts: list[tuple[int, bool]] = field(default_factory=list)

    def run(self, all_frames: list[SendFrames]) -> None:
        left = list(all_frames)
        while left or self.unconfirmed:
            if left and self.rng.random() < 0.5:
                self.unconfirmed.add(left.pop(0), NO_TIME)
            part = self.unconfirmed.take(NO_TIME)
            if part is not None:
                self.in_flight += Sent.all_of(bytes(part))
            if self.rng.random() < self.breaks:
                self.break_off()
            else:
                self.work(self.rng.randrange(4))
                for _ in range(min(len(self.receipts), self.rng.randrange(4))):
                    sequence_id, stored = self.receipts.pop(0)
                    assert self.unconfirmed.confirm(sequence_id, NO_TIME, stored=stored) is None

    def work(self, most: int) -> None:
        for sent in self.in_flight[:most]:
            self.receipts.append((sent.first_id, self.broker.take(sent)))
        del self.in_flight[:most]

    def break_off(self) -> None:
        self.work(self.rng.randrange(len(self.in_flight) + 1))
        self.in_flight.clear()
        self.receipts.clear()
        if self.rng.random() < 0.5:
            self.broker.load()
        self.unconfirmed.prepare_resend()


@pytest.mark.parametrize("deduplicates", [False, True], ids=["plain", "deduplication"])
def test_chunked_messages_are_stored_once_whatever_breaks(deduplicates: bool, seed: int) -> None:
    for run in range(300):
        rng = random.Random(seed + run)
        made, all_frames, values = encoder(), [], []
        for _ in range(rng.randrange(1, 4)):
            # The names are unique, and they are the first bytes of the chunked payloads.
            batch = [
                large(len(values) + index, rng.randrange(2, 5)) if rng.random() < 0.5 else b"small %d" % index
                for index in range(rng.randrange(1, 5))
            ]
            batch = [value if len(value) > 100 else b"%d %s" % (len(values), value) for value in batch]
            values += batch
            all_frames.append(frames_of(made, batch))
        broker = Broker(deduplicates)
        schedule = Schedule(rng, broker, Unconfirmed(sends_again=True), rng.choice([0.0, 0.1, 0.4]))
        schedule.run(all_frames)
        assert schedule.unconfirmed.nbytes == 0
        long = [value for value in values if len(value) > 100]
        got = rows(broker.stored)
        counts = Counter(got)
        assert all(counts[value] == 1 for value in long), run
        assert all(counts[value] >= 1 for value in values), run
        assert list(dict.fromkeys(got)) == values, run
        assert sorted(whole_messages(broker.stored).values()) == [1] * len(long), run
        if deduplicates or not schedule.breaks:
            assert got == values, run


def test_without_sending_again_nothing_is_held_back() -> None:
    frames = frames_of(encoder(), [b"a", large(1, 3), b"b"])
    unconfirmed = Unconfirmed(sends_again=False)
    unconfirmed.add(frames, NO_TIME)
    part = unconfirmed.take(NO_TIME)
    assert part is not None
    assert bytes(part) == frames.frames
    assert unconfirmed.is_all_sent


def test_a_last_chunk_waits_for_the_others() -> None:
    frames = frames_of(encoder(), [b"a", large(1, 3), b"b"])
    (begin, end) = frames.chunked[0]
    unconfirmed = Unconfirmed(sends_again=True)
    unconfirmed.add(frames, NO_TIME)
    unconfirmed.add(frames_of(encoder(), [b"c"]), NO_TIME)
    part = unconfirmed.take(NO_TIME)
    assert part is not None
    assert len(Sent.all_of(bytes(part))) == end - 1
    for index in range(end - 1):
        assert unconfirmed.take(NO_TIME) is None
        assert not unconfirmed.is_all_sent
        unconfirmed.confirm(frames.sequence_ids[index], NO_TIME, stored=True)
    part = unconfirmed.take(NO_TIME)
    assert part is not None
    assert bytes(part) == frames.frames[frames.ends[end - 2] :]
    assert begin == 1


@pytest.mark.parametrize("sends_again", [False, True])
def test_a_receipt_without_a_position_proves_nothing_about_new_messages(sends_again: bool) -> None:
    unconfirmed = Unconfirmed(sends_again=sends_again)
    unconfirmed.add(frames_of(encoder(), [b"a"]), NO_TIME)
    unconfirmed.take(NO_TIME)
    with pytest.raises(NotStored):
        unconfirmed.confirm(0, NO_TIME, stored=False)
    assert unconfirmed.oldest_id == 0


def test_a_receipt_proves_earlier_messages_and_no_later_ones() -> None:
    made = encoder()
    unconfirmed = Unconfirmed(sends_again=True)
    unconfirmed.add(frames_of(made, [b"a"]), NO_TIME)
    unconfirmed.take(NO_TIME)
    unconfirmed.add(frames_of(made, [b"b"]), NO_TIME)
    unconfirmed.prepare_resend()
    assert unconfirmed.take(NO_TIME) is not None
    assert unconfirmed.take(NO_TIME) is not None
    assert unconfirmed.confirm(0, NO_TIME, stored=False) is None
    with pytest.raises(NotStored):
        unconfirmed.confirm(1, NO_TIME, stored=False)


def test_a_chunk_before_the_last_is_never_proven_by_a_duplicate() -> None:
    """Brokers that do not know of chunks answer so: the message would never be whole."""
    unconfirmed = Unconfirmed(sends_again=True)
    unconfirmed.add(frames_of(encoder(), [large(1, 3)]), NO_TIME)
    unconfirmed.take(NO_TIME)
    unconfirmed.prepare_resend()
    unconfirmed.take(NO_TIME)
    with pytest.raises(NotStored):
        unconfirmed.confirm(0, NO_TIME, stored=False)


def test_receipts_out_of_order() -> None:
    made = encoder()
    unconfirmed = Unconfirmed(sends_again=True)
    first, second = frames_of(made, [b"a"]), frames_of(made, [b"b"])
    for frames in (first, second):
        unconfirmed.add(frames, NO_TIME)
        unconfirmed.take(NO_TIME)
    expected = "expected the receipt of message 0, got the receipt of message 1"
    assert unconfirmed.confirm(1, NO_TIME, stored=True) == expected
    assert unconfirmed.confirm(0, NO_TIME, stored=True) is None
    assert unconfirmed.nbytes == len(second.frames)
    assert unconfirmed.confirm(0, NO_TIME, stored=True) is None
    assert unconfirmed.oldest_id == 1


def test_the_timeout_of_a_frame_begins_when_it_is_first_sent() -> None:
    frames = frames_of(encoder(), [b"a", large(1, 3)])
    unconfirmed = Unconfirmed(sends_again=True)
    unconfirmed.add(frames, 1.0)
    assert unconfirmed.oldest_since == 1.0
    unconfirmed.take(2.0)
    assert unconfirmed.oldest_since == 2.0
    for index in range(len(frames.ends) - 1):
        unconfirmed.confirm(frames.sequence_ids[index], 3.0 + index, stored=True)
    # The last chunk was held back for that duration, and does not count as late.
    assert unconfirmed.oldest_since == 3.0 + len(frames.ends) - 2
    unconfirmed.take(9.0)
    unconfirmed.prepare_resend()
    unconfirmed.take(20.0)
    assert unconfirmed.oldest_since == 9.0


def test_the_first_frame_of_a_connection_is_sent_alone_until_its_receipt() -> None:
    made = encoder()
    frames = frames_of(made, [b"a", large(1, 3), b"b"])
    unconfirmed = Unconfirmed(sends_again=False, first_alone=True)
    unconfirmed.add(frames, NO_TIME)
    for _ in range(3):
        part = unconfirmed.take(NO_TIME)
        assert part is not None
        assert bytes(part) == frames.frames[: frames.ends[0]]
        assert unconfirmed.take(NO_TIME) is None
        assert unconfirmed.waits_for_first
        # A refusal of another frame proves nothing.
        unconfirmed.refuse(frames.sequence_ids[1])
        assert unconfirmed.sent == 1
        unconfirmed.refuse(frames.sequence_ids[0])
        assert unconfirmed.sent == 0
        unconfirmed.prepare_resend()
    unconfirmed.take(NO_TIME)
    assert unconfirmed.confirm(frames.sequence_ids[0], NO_TIME, stored=True) is None
    rest = unconfirmed.take(NO_TIME)
    assert rest is not None
    assert bytes(rest) == frames.frames[frames.ends[0] :]
    # Brokers may store the other frames after a refused one, so its repetition would change the order.
    unconfirmed.refuse(frames.sequence_ids[1])
    assert unconfirmed.sent == len(frames.ends) - 1


def test_a_receipt_without_a_position_does_not_prove_a_refused_frame() -> None:
    unconfirmed = Unconfirmed(sends_again=False, first_alone=True)
    unconfirmed.add(frames_of(encoder(), [b"a"]), NO_TIME)
    unconfirmed.take(NO_TIME)
    unconfirmed.refuse(0)
    unconfirmed.prepare_resend()
    unconfirmed.take(NO_TIME)
    with pytest.raises(NotStored):
        unconfirmed.confirm(0, NO_TIME, stored=False)
