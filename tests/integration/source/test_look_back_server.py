"""Looking back while the server is silent for a while or for good, or is killed and starts again."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Self

import pytest
from fixtures.forwarder import MESSAGE, Cut
from integration.official import Admin
from integration.source.test_look_back import WHOLE, Once, read, spread

from pyspark_pulsar.client.broker.connection.commands import CLOSE_CONSUMER, CONNECT, FLOW, LOOKUP, SUBSCRIBE
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.tools.standalone import LocalPulsar

# The server gets what is asked of it only when it goes on; a message is cut off, so that more must be asked for.
MOMENTS = [(CONNECT, 0), (LOOKUP, 0), (SUBSCRIBE, 2), (FLOW, 2), (CLOSE_CONSUMER, 1), (MESSAGE, 5)]
# Longer than a slow machine needs for what comes before the silence.
POLL_SECONDS, REQUEST_SECONDS, CLOSE_SECONDS = 9, 6, 5
POLL = {"poll_timeout_ms": POLL_SECONDS * 1000}
REQUESTS = {
    "operation_timeout_ms": REQUEST_SECONDS * 1000,
    "connection_timeout_ms": REQUEST_SECONDS * 1000,
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    """A server that nobody else misses."""
    with LocalPulsar(data=tmp_path_factory.mktemp("own")) as server:
        yield server


class Pause:
    """Stops the server, and lets it go on after `seconds` or at the end of the block."""

    def __init__(self, server: LocalPulsar, command: int, seconds: float | None = None) -> None:
        pid = server.status().pid
        assert pid is not None
        self._group = pid
        self._command = command
        self._timer = None if seconds is None else threading.Timer(seconds, self._go_on)

    def __call__(self) -> None:
        os.killpg(self._group, signal.SIGSTOP)
        if self._timer is not None:
            self._timer.start()
        if self._command == MESSAGE:
            raise Cut

    def _go_on(self) -> None:
        os.killpg(self._group, signal.SIGCONT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._go_on()


@pytest.mark.parametrize(("command", "nth"), MOMENTS)
def test_a_server_that_stays_silent(own: LocalPulsar, topic: str, command: int, nth: int) -> None:
    where = spread(own, topic, Admin(own.admin_url))
    # With a consumer there, pollTimeoutMs counts alone.
    options = POLL if command == FLOW else POLL | REQUESTS
    with Pause(own, command) as pause:
        once = Once(command, nth, pause)
        begun = time.monotonic()
        with pytest.raises(ConnectionFailed) as caught:
            read(own, topic, where.last, where.end, once, **options)
        passed = time.monotonic() - begun
    assert once.done
    assert str(caught.value).startswith(where.looking_back)
    # A last attempt that began in time: connect, look up, subscribe. Then two consumers are closed.
    assert passed < POLL_SECONDS + 3 * REQUEST_SECONDS + 2 * CLOSE_SECONDS + 20


@pytest.mark.parametrize(("command", "nth"), MOMENTS)
def test_a_server_that_is_silent_for_a_while(own: LocalPulsar, topic: str, command: int, nth: int) -> None:
    where = spread(own, topic, Admin(own.admin_url))
    with Pause(own, command, seconds=3.0) as pause:
        once = Once(command, nth, pause)
        assert read(own, topic, where.last, where.end, once) == [WHOLE, b"plain"]
    assert once.done


def test_a_server_that_is_killed_and_starts_again(own: LocalPulsar, topic: str) -> None:
    where = spread(own, topic, Admin(own.admin_url))
    before = own.service_url

    def start_again() -> None:
        pid = own.status().pid
        assert pid is not None
        os.killpg(pid, signal.SIGKILL)
        own.stop()
        assert own.start(with_caller=True)
        assert own.service_url == before, "the ports of the last start"
        raise Cut

    once = Once(MESSAGE, 45, start_again)
    assert read(own, topic, where.last, where.end, once) == [WHOLE, b"plain"]
    assert once.done
