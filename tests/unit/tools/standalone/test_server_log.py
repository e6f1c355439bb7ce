"""Conclusions from a server's log about the server."""

import threading
from pathlib import Path

import pytest

from pyspark_pulsar.tools.standalone.server_log import registers_endlessly

LOST = (
    "2026-11-23T21:57:47,425+0000 [metadata-store-1-1] INFO  org.apache.pulsar.metadata.coordination.impl."
    "ResourceLockImpl - Lock on resource /ledgers/available/127.0.0.1:34041 was invalidated. state Valid\n"
)


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_registration_that_is_lost_again_and_again(tmp_path: Path, goes_on: bool) -> None:
    log = tmp_path / "server.log"
    log.write_text("Started\n" + LOST * 40)
    over = threading.Event()

    def write() -> None:
        while not over.wait(0.05):
            with log.open("a") as file:
                file.write(LOST if goes_on else "something else\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert registers_endlessly(log) == goes_on
    finally:
        over.set()
        writer.join()


def test_few_losses_are_a_restart(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOST * 3)
    assert not registers_endlessly(log)
