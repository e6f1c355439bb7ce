"""Looking back while what is looked for, or all there is, goes away: an error that names the message, at once."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable

import pytest
from fixtures.forwarder import MESSAGE
from integration.official import Admin
from integration.raw_producer import RawProducer
from integration.source.test_look_back import (
    PIECES,
    WHOLE,
    Once,
    Spread,
    cut,
    kinds_of_look_back,
    read,
    spread,
)

from pyspark_pulsar.client.broker.connection.commands import SUBSCRIBE
from pyspark_pulsar.errors import DataLossError, PulsarError, TopicNotFoundError
from pyspark_pulsar.model.position import EARLIEST, after_entry
from pyspark_pulsar.tools.standalone import LocalPulsar

# Far more than an answer takes, far less than the two minutes of pollTimeoutMs.
SOON_SECONDS = 30.0
# The first run, in the ledger; its later ones; where earlier ledgers are looked for; in them.
MOMENTS = [(SUBSCRIBE, 0), (MESSAGE, 5), (SUBSCRIBE, 1), (SUBSCRIBE, 2), (MESSAGE, 45)]


def failure(kind: type[PulsarError], server: LocalPulsar, topic: str, where: Spread, interrupt: Once) -> str:
    """The text of the error that ends, soon, a read from the last chunk on."""
    begun = time.monotonic()
    with pytest.raises(kind) as caught:
        read(server, topic, where.last, where.end, interrupt)
    assert time.monotonic() - begun < SOON_SECONDS
    assert interrupt.done
    return str(caught.value)


def gone(topic: str, where: Spread) -> str:
    """How the error begins when the last chunk is there, but no earlier one."""
    last = where.last
    return f"topic {topic}, ledger {last.ledger}, entry {last.entry}: the last of 3 chunks of a message: expected"


@pytest.fixture
def alone(topic: str, admin: Admin) -> str:
    """A topic in a namespace of its own, whose retention a test may change."""
    namespace = f"public/{uuid.uuid4().hex}"
    admin.make_namespace(namespace)
    return topic.replace("public/default", namespace)


@pytest.mark.parametrize(("command", "nth"), MOMENTS)
def test_retention_removes_the_earlier_ledgers(
    pulsar: LocalPulsar, alone: str, admin: Admin, command: int, nth: int
) -> None:
    where = spread(pulsar, alone, admin)
    interrupt = Once(command, nth, lambda: admin.trim(alone, to_ledgers=1))
    text = failure(DataLossError, pulsar, alone, where, interrupt)
    assert text.startswith(gone(alone, where))
    assert f"begin the read behind this entry, at {where.last.ledger}:{where.last.entry + 1}" in text


@pytest.mark.parametrize(("command", "nth"), MOMENTS)
def test_everything_is_removed(pulsar: LocalPulsar, topic: str, admin: Admin, command: int, nth: int) -> None:
    """Nothing will come any more, so nobody waits for it until pollTimeoutMs is over."""
    where = spread(pulsar, topic, admin)

    def empty() -> None:
        admin.unload(topic)
        admin.truncate(topic)

    text = failure(DataLossError, pulsar, topic, where, Once(command, nth, empty))
    assert text.startswith(where.looking_back)
    assert "the topic now ends at earliest: they were removed" in text


def test_everything_is_removed_and_more_is_written(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    where = spread(pulsar, topic, admin)

    def replace() -> None:
        admin.unload(topic)
        admin.truncate(topic)
        with RawProducer(pulsar.service_url, topic) as raw:
            raw.chunk("a", 0, [b"another ", b"message"])

    text = failure(DataLossError, pulsar, topic, where, Once(MESSAGE, 5, replace))
    assert text.startswith(gone(topic, where))


def test_the_topic_is_deleted(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    where = spread(pulsar, topic, admin)
    text = failure(TopicNotFoundError, pulsar, topic, where, Once(MESSAGE, 5, lambda: admin.delete(topic)))
    assert text.startswith(where.looking_back)


def test_the_topic_is_made_again(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    where = spread(pulsar, topic, admin)

    def make_again() -> None:
        admin.delete(topic)
        spread(pulsar, topic, admin)

    text = failure(DataLossError, pulsar, topic, where, Once(MESSAGE, 5, make_again))
    assert text.startswith(gone(topic, where))


def test_removed_between_plan_and_read(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    """From a position: an error. From the first message that there is, which then is a later one: a row less."""
    where = spread(pulsar, topic, admin)
    admin.truncate(topic)
    begun = time.monotonic()
    for start in (where.first, where.last):
        with pytest.raises(DataLossError) as caught:
            read(pulsar, topic, start, where.end, lambda _: None)
        assert str(caught.value).startswith(gone(topic, where))
    assert read(pulsar, topic, EARLIEST, where.end, lambda _: None) == [*[b"between"] * 20, b"plain"]
    assert time.monotonic() - begun < SOON_SECONDS


def test_truncation_once_the_chunks_are_found(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    """Truncation moves all consumers to the topic's end, also behind messages that stay: those come all the same."""
    where = spread(pulsar, topic, admin)
    with RawProducer(pulsar.service_url, topic) as raw:
        numbers = [str(number).encode() for number in range(20)]
        last = [raw.send(number) for number in numbers][-1]

    def read_watched(watch: Callable[..., None]) -> list[bytes]:
        end = after_entry(last.ledger, last.entry)
        return read(pulsar, topic, where.last, end, watch, receiver_queue_size=1)

    last_found = kinds_of_look_back(read_watched)[MESSAGE] - 1
    # How many messages come behind the last one that is needed differs from run to run. Where fewer come, nothing has
    # happened, and an earlier moment is tried: the chunks are found by then too, since 20 others lie behind them.
    for nth in range(last_found, last_found - 12, -1):
        once = Once(MESSAGE, nth, lambda: admin.truncate(topic))
        begun = time.monotonic()
        assert read_watched(once) == [WHOLE, b"plain", *numbers]
        assert time.monotonic() - begun < SOON_SECONDS
        if once.done:
            break
    assert once.done


def test_chunks_within_the_range_that_gave_way_to_others(
    pulsar: LocalPulsar, alone: str, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    """The one that gave way is looked back for; as the read begins with what the topic has, losing it is a warning."""
    admin.create(alone)
    with RawProducer(pulsar.service_url, alone) as raw:
        for name in "ab":
            raw.chunk(name, 0, PIECES)
        admin.unload(alone)
        for number in (1, 2):
            last, _ = [raw.chunk(name, number, PIECES) for name in "ab"]
        plain = raw.send(b"plain")

    def read_watched(watch: Callable[..., None]) -> list[bytes]:
        end = after_entry(plain.ledger, plain.entry)
        return read(pulsar, alone, EARLIEST, end, watch, max_pending_chunked_message=1)

    interrupt = Once(MESSAGE, 1, cut)
    assert read_watched(interrupt) == [WHOLE, WHOLE, b"plain"]
    assert interrupt.done
    trim = Once(SUBSCRIBE, 0, lambda: admin.trim(alone, to_ledgers=1))
    with caplog.at_level(logging.WARNING, logger="pyspark_pulsar"):
        assert read_watched(trim) == [WHOLE, b"plain"]
    assert f"ledger {last.ledger}, entry {last.entry}: the last of 3 chunks" in caplog.text
    assert caplog.text.count("retention has removed its first chunks") == 1
