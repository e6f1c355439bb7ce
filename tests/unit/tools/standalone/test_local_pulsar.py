import os
from pathlib import Path

import pytest

from pyspark_pulsar.errors import OptionError, StandaloneFailed
from pyspark_pulsar.tools.standalone import DEFAULT_VERSION, LocalPulsar
from pyspark_pulsar.tools.standalone.process import ProcessIdentity
from pyspark_pulsar.tools.standalone.record import InstanceRecord, write_record


def _recorded(data: Path, version: str, process: ProcessIdentity | None = None) -> Path:
    data.mkdir(exist_ok=True)
    record = InstanceRecord(process, broker_port=6650, web_port=8080, version=version, transactions=True)
    write_record(data / "instance.json", record)
    return data


def test_the_version_is_the_argument_or_of_the_last_start_or_the_default(tmp_path: Path) -> None:
    assert LocalPulsar(data=tmp_path / "new").version == DEFAULT_VERSION
    assert LocalPulsar(data=tmp_path / "new", version="3.3.6").version == "3.3.6"
    data = _recorded(tmp_path / "data", "4.2.4")
    assert LocalPulsar(data=data).version == "4.2.4"
    assert LocalPulsar(data=data, version="5.0.0-M1").version == "5.0.0-M1"
    assert LocalPulsar(data=_recorded(data, "4.0.1")).version == DEFAULT_VERSION, "which can no longer be had"


def test_a_version_that_cannot_be_had_is_refused_at_once() -> None:
    with pytest.raises(OptionError, match=r"cannot be Pulsar 1\.0"):
        LocalPulsar(version="1.0")


def test_data_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    data = _recorded(tmp_path / "data", "4.2.4")
    with pytest.raises(StandaloneFailed, match=r"got data of the newer Pulsar 4\.2\.4\. Choose"):
        LocalPulsar(data=data, version="4.0.8").start()


def test_a_running_server_of_another_version_is_said(tmp_path: Path) -> None:
    data = _recorded(tmp_path / "data", "4.0.8", ProcessIdentity.find(os.getpid()))
    with pytest.raises(StandaloneFailed, match=r"but Pulsar 4\.0\.8 runs there"):
        LocalPulsar(data=data, version="4.2.4").start()
