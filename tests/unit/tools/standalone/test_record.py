from pathlib import Path

import pytest

from pyspark_pulsar.errors import StandaloneFailed
from pyspark_pulsar.tools.standalone.process import ProcessIdentity
from pyspark_pulsar.tools.standalone.record import InstanceRecord, read_record, write_record
from pyspark_pulsar.tools.standalone.server_log import end_of_log, rotate_log


@pytest.mark.parametrize("process", [None, ProcessIdentity(12, "then")])
def test_a_record_reads_as_written(tmp_path: Path, process: ProcessIdentity | None) -> None:
    record = InstanceRecord(process, broker_port=1, web_port=2, version="4.0.8", transactions=True)
    write_record(tmp_path / "instance.json", record)
    assert read_record(tmp_path / "instance.json") == record
    assert record.service_url == "pulsar://127.0.0.1:1"
    assert record.admin_url == "http://127.0.0.1:2"
    assert [path.name for path in tmp_path.iterdir()] == ["instance.json"]


def test_no_record(tmp_path: Path) -> None:
    assert read_record(tmp_path / "instance.json") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 2}', '{"format": 1, "process": null, "x": 1}']
)
def test_a_foreign_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "instance.json").write_text(text)
    with pytest.raises(StandaloneFailed, match=r"instance\.json is not an instance record"):
        read_record(tmp_path / "instance.json")


def test_the_end_of_a_log_shows_the_complaint_before_the_shutdown(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    lines = [f"[main] INFO line {number}" for number in range(100)]
    lines[10] = "[main] ERROR Journal - problems (this is okay if it is the first time)"
    lines[50] = "[main] ERROR PulsarService - Failed to start"
    lines[51] = "Caused by: java.net.BindException: in use"
    log.write_text("\n".join(lines))
    shown = end_of_log(log).splitlines()
    assert shown[:3] == [lines[50], lines[51], "..."]
    assert shown[3:] == lines[-15:]


def test_one_log_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    assert end_of_log(log) == "(no log)"
    rotate_log(log)
    for text in ("first", "second"):
        log.write_text(text)
        rotate_log(log)
    assert not log.exists()
    assert (tmp_path / "server.log.1").read_text() == "second"
