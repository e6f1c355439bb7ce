"""The process that plans on the driver, called as the JVM calls it: its start, and first calls at the same
time.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fixtures.service_process import Refused, ServiceProcess

_PLANNERS = "pyspark.sql.worker"
_PROGRAMS = (
    f"{_PLANNERS}.create_data_source",
    f"{_PLANNERS}.data_source_pushdown_filters",
    f"{_PLANNERS}.plan_data_source_read",
    f"{_PLANNERS}.write_into_data_source",
    f"{_PLANNERS}.commit_data_source_write",
    f"{_PLANNERS}.python_streaming_sink_runner",
)
_SUMMARY = "read_summary"
_STREAM = "open_stream"


def driver_process(**environment: str) -> ServiceProcess:
    return ServiceProcess("pyspark_pulsar.spark.driver_process", {}, **environment)


def answer_to_nothing(process: ServiceProcess, call: str) -> bytes:
    """Return what is answered to an empty request."""
    if call == _SUMMARY:
        return str(process.call(call, (0).to_bytes(4, "big"))).encode()
    if call != _STREAM:
        return process.request(call)[1]
    with pytest.raises(Refused) as caught:
        process.request(call, columns="{}")
    return caught.value.message.encode()


@pytest.mark.parametrize("kind", ["long", "missing", "not writable"])
def test_the_process_starts_whatever_tmpdir_is(kind: str, tmp_path: Path) -> None:
    """The process has no file with a path."""
    folder = tmp_path / ("d" * 200 if kind == "long" else "folder")
    if kind != "missing":
        folder.mkdir(mode=0o500 if kind == "not writable" else 0o700)
    with driver_process(TMPDIR=str(folder)) as process:
        assert b"EOFError" in answer_to_nothing(process, _STREAM)
    if kind != "missing":
        assert list(folder.iterdir()) == []


def test_all_first_calls_at_once() -> None:
    """Modules that import each other are not imported by several threads at the same time."""
    calls = (*_PROGRAMS, _SUMMARY, _STREAM)
    answers = {}
    for _ in range(2):
        with driver_process() as process, ThreadPoolExecutor(len(calls)) as pool:
            answers = dict(
                zip(calls, pool.map(lambda call: answer_to_nothing(process, call), calls), strict=True)
            )
        expected = {call: b"nothing to read" if call == _SUMMARY else b"EOFError" for call in calls}
        assert [call for call in calls if expected[call] not in answers[call]] == [], answers


def test_a_stranger_has_nothing_to_talk_to() -> None:
    """Anybody on the machine may connect to a port."""
    with driver_process() as process:
        answer_to_nothing(process, _STREAM)
        open_files = Path(f"/proc/{process.process.pid}/fd").iterdir()
        assert not [each for each in open_files if each.is_socket()]


def test_an_unknown_call_is_refused() -> None:
    with (
        driver_process() as process,
        pytest.raises(Refused, match=r"expected one of pyspark.sql.worker.create_data_source"),
    ):
        process.call("os.system")
