import multiprocessing
import time
from pathlib import Path

import pytest

from pyspark_pulsar.errors import StandaloneFailed
from pyspark_pulsar.tools.standalone.cache import cache_root, locked


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PYSPARK_PULSAR_CACHE": "/own"}, "/own"),
        ({"PYSPARK_PULSAR_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/pyspark-pulsar"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/someone/.cache/pyspark-pulsar"),
        ({}, "/home/someone/.cache/pyspark-pulsar"),
    ],
)
def test_cache_root(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str) -> None:
    for key in ("PYSPARK_PULSAR_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    assert cache_root() == Path(expected)


def test_a_taken_lock_is_given_up_after_the_deadline(tmp_path: Path) -> None:
    waits: list[str] = []
    with locked(tmp_path / "lock", deadline_seconds=1, doing="first"):
        began = time.monotonic()
        with (
            pytest.raises(StandaloneFailed, match=r"another process is still second .*lock\)"),
            locked(
                tmp_path / "lock", deadline_seconds=0.3, doing="second", on_wait=lambda: waits.append("once")
            ),
        ):
            pass
        assert time.monotonic() - began >= 0.3
    assert waits == ["once"]
    with locked(tmp_path / "lock", deadline_seconds=0, doing="third"):
        pass


def _hold(path: Path, held: "multiprocessing.synchronize.Event") -> None:
    with locked(path, deadline_seconds=1, doing="holding"):
        held.set()
        time.sleep(600)


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "lock", held))
    holder.start()
    assert held.wait(30)
    holder.kill()
    with locked(tmp_path / "lock", deadline_seconds=10, doing="taking over"):
        pass
    holder.join()
