import socket
from pathlib import Path

import pytest

from pyspark_pulsar.errors import OptionError, StandaloneFailed
from pyspark_pulsar.tools.standalone.settings import (
    choose_port,
    plain_environment,
    server_environment,
    server_settings,
    write_settings,
)


def test_settings_keep_data_and_stay_on_the_loopback() -> None:
    settings = server_settings(1234, 5678, {"maxMessageSize": "1000", "defaultRetentionSizeInMB": "5"})
    assert settings["brokerServicePort"] == "1234"
    assert settings["webServicePort"] == "5678"
    assert settings["bindAddress"] == settings["advertisedAddress"] == "127.0.0.1"
    assert settings["transactionCoordinatorEnabled"] == "true"
    assert settings["readBufferSizeBytes"] == "4096"
    assert settings["brokerDeleteInactiveTopicsEnabled"] == "false"
    assert settings["defaultRetentionTimeInMinutes"] == "-1"
    assert settings["defaultRetentionSizeInMB"] == "5"
    assert settings["maxMessageSize"] == "1000"


@pytest.mark.parametrize(
    ("key", "option"), [("brokerServicePort", "broker_port"), ("webServicePort", "web_port")]
)
def test_ports_have_options_of_their_own(key: str, option: str) -> None:
    with pytest.raises(OptionError, match=f"{key}: .*use {option}"):
        server_settings(1, 2, {key: "3"})


def test_our_settings_are_on_lines_of_their_own(tmp_path: Path) -> None:
    base = tmp_path / "base.conf"
    base.write_text("a=1\nlast=without line break")
    write_settings(base, tmp_path / "out.conf", {"a": "2", "path": "C:\\x"})
    lines = (tmp_path / "out.conf").read_text().splitlines()
    assert lines[1] == "last=without line break"
    assert lines[-2:] == ["a=2", "path=C:\\\\x"]


@pytest.mark.parametrize(("key", "value"), [("a", "1\nb=2"), ("a\nb", "1"), ("a=b", "1")])
def test_a_setting_cannot_bring_another(tmp_path: Path, key: str, value: str) -> None:
    (tmp_path / "base.conf").write_text("")
    with pytest.raises(OptionError, match="one line"):
        write_settings(tmp_path / "base.conf", tmp_path / "out.conf", {key: value})
    assert not (tmp_path / "out.conf").exists()


def test_variables_that_steer_the_scripts_are_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULSAR_MEM", "-Xmx100g")
    monkeypatch.setenv("OPTS", "-Dx=y")
    monkeypatch.setenv("BK_METADATA_OPTIONS", "none")
    monkeypatch.setenv("SOMETHING", "else")
    assert not {"PULSAR_MEM", "OPTS", "BK_METADATA_OPTIONS"} & plain_environment().keys()
    environment = server_environment(Path("/conf"), Path("/logs"), 512)
    assert environment["SOMETHING"] == "else"
    assert environment["PULSAR_MEM"] == "-Xms256m -Xmx512m -XX:MaxDirectMemorySize=512m"


def test_ports() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StandaloneFailed, match=f"port {port} .*is taken"):
            choose_port(port, None)
        assert choose_port(None, port) != port
    assert choose_port(port, None) == port
    assert choose_port(None, port) == port
    assert choose_port(None, port, avoid=port) != port
    with pytest.raises(StandaloneFailed, match="is taken"):
        choose_port(port, None, avoid=port)
    with pytest.raises(OptionError, match="1 to 65535"):
        choose_port(70000, None)
