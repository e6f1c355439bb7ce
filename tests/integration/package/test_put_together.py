"""A server of libraries from Maven Central with the real Maven, of two small ones instead of Pulsar's three hundred."""

from pathlib import Path

import pytest

from pyspark_pulsar.errors import StandaloneFailed
from pyspark_pulsar.tools.standalone import ServerArtifact, ServerLibraries, fetch_server
from pyspark_pulsar.tools.standalone.distribution import libraries
from pyspark_pulsar.tools.standalone.distribution.artifact import place, workplace_in

_BASE = ServerArtifact("org.example", "server", "1", 1, "0" * 128, "server-1")
_SERVER = ServerLibraries("1", base=_BASE)
_JARS = {"com.beust-jcommander-1.82.jar": 88_407, "org.slf4j-slf4j-api-2.0.17.jar": 69_908}
_LIST = """\
com.beust:jcommander:1.82 88407 deeac157c8de6822878d85d0c7bc8467a19cc8484d37788f7804f039dde280b1
org.slf4j:slf4j-api:2.0.17 69908 7b751d952061954d5abfed7181c1f645d336091b679891591d63329c622eb832
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with an unpacked distribution, which has a start script, another program and a configuration."""
    folder = tmp_path_factory.mktemp("cache") / "server"
    folder.mkdir()
    with workplace_in(folder) as workplace:
        made = workplace / "made"
        for name in ("bin/pulsar", "bin/other", "conf/standalone.conf", "lib/old.jar"):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(name)
        place(_BASE, made, folder / _BASE.folder, workplace)
    return folder.parent


def _pin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(libraries, "_pinned", lambda _: text)


def test_libraries_are_fetched_and_a_damaged_one_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    _pin(monkeypatch, _LIST)
    home = fetch_server(_SERVER, cache=cache)
    assert {path.name: path.stat().st_size for path in (home / "lib").iterdir()} == _JARS
    assert [path.name for path in (home / "bin").iterdir()] == ["pulsar"]
    assert (home / "conf" / "standalone.conf").read_text() == "conf/standalone.conf"
    capfd.readouterr()
    assert fetch_server(_SERVER, cache=cache) == home
    assert capfd.readouterr().err == ""
    jar = home / "lib" / next(iter(_JARS))
    whole = jar.read_bytes()
    jar.write_bytes(whole[:1000])
    assert fetch_server(_SERVER, cache=cache) == home
    assert jar.read_bytes() == whole
    assert not list((cache / "server").glob(".unpack-*"))


def test_another_file_than_the_pinned_one_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pin(monkeypatch, _LIST.replace("deeac157", "00000000"))
    wrong = ServerLibraries("2", base=_BASE)
    with pytest.raises(StandaloneFailed, match=r"got other files: jcommander-1\.82\.jar"):
        fetch_server(wrong, cache=cache)
    assert not (cache / "server" / wrong.folder).exists()


def test_a_library_that_maven_does_not_find_is_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pin(monkeypatch, _LIST.replace("jcommander:1.82", "jcommander:1.82-no-such"))
    with pytest.raises(StandaloneFailed, match=r"mvn could not download the libraries of Pulsar 3"):
        fetch_server(ServerLibraries("3", base=_BASE), cache=cache)
