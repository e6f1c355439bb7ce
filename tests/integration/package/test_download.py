"""Fetching from Maven Central with the real Maven, on a distribution of 9 MB instead of Pulsar's 245."""

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pyspark_pulsar.errors import PrerequisiteMissing, StandaloneFailed
from pyspark_pulsar.tools.standalone import ServerArtifact, fetch_server

_SMALL = ServerArtifact(
    group="org.apache.maven",
    name="apache-maven",
    version="3.9.9",
    size=9_102_945,
    sha512=(
        "a555254d6b53d267965a3404ecb14e53c3827c09c3b94b5678835887ab404556"
        "bfaf78dcfe03ba76fa2508649dca8531c74bca4d5846513522404d48e8c4ac8b"
    ),
    folder="apache-maven-3.9.9",
)

_FETCH = (
    "import sys\n"
    "from pathlib import Path\n"
    "from pyspark_pulsar.tools.standalone import ServerArtifact, fetch_server\n"
    f"print(fetch_server({_SMALL!r}, cache=Path(sys.argv[1])))\n"
)


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache into which two processes fetch at the same time: one downloads, the other waits for it."""
    cache = tmp_path_factory.mktemp("cache")
    command = [sys.executable, "-c", _FETCH, str(cache)]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [fetch.communicate(timeout=300) for fetch in both]
    assert [fetch.returncode for fetch in both] == [0, 0], outputs
    home = cache / "server" / _SMALL.folder
    assert [out.strip() for out, _ in outputs] == [str(home)] * 2
    said = sorted(err.strip() for _, err in outputs)
    assert said[0].startswith("Another process is fetching")
    assert said[1] == "Downloading apache-maven 3.9.9 (9 MB) from Maven Central, once."
    return cache


@pytest.fixture
def cache(fetched: Path, tmp_path: Path) -> Path:
    """An empty cache with what Maven needs for itself, which is more than the distribution."""
    shutil.copytree(fetched / "server" / "maven", tmp_path / "server" / "maven")
    assert not (tmp_path / "server" / "maven" / _SMALL.repository_path).exists()
    return tmp_path


def test_two_first_fetches_at_once_download_once(fetched: Path) -> None:
    home = fetched / "server" / _SMALL.folder
    assert (home / "bin" / "mvn").stat().st_mode & 0o100


def test_damaged_files_are_fetched_again(cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home = fetch_server(_SMALL, cache=cache)
    capfd.readouterr()
    assert fetch_server(_SMALL, cache=cache) == home
    assert capfd.readouterr().err == ""
    jar = next(home.glob("lib/maven-core-*.jar"))
    whole = jar.read_bytes()
    jar.write_bytes(whole[:1000])
    assert fetch_server(_SMALL, cache=cache) == home
    assert jar.read_bytes() == whole
    assert "Downloading" in capfd.readouterr().err


def test_a_damaged_archive_of_an_interrupted_fetch_is_replaced(cache: Path) -> None:
    archive = cache / "server" / "maven" / _SMALL.repository_path
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"\0" * _SMALL.size)
    (cache / "server" / ".unpack-interrupted").mkdir()
    home = fetch_server(_SMALL, cache=cache)
    assert (home / "bin" / "mvn").exists()
    assert not archive.exists()
    assert not (cache / "server" / ".unpack-interrupted").exists()


def test_a_wrong_file_is_refused(cache: Path) -> None:
    wrong = dataclasses.replace(_SMALL, sha512="0" * 128)
    with pytest.raises(StandaloneFailed, match=r"expected org\.apache\.maven:apache-maven.*SHA-512 0000"):
        fetch_server(wrong, cache=cache)
    assert not (cache / "server" / _SMALL.folder).exists()


def test_a_file_that_maven_does_not_find_is_reported(cache: Path) -> None:
    absent = dataclasses.replace(_SMALL, version="3.9.9-no-such-version")
    with pytest.raises(StandaloneFailed, match=r"mvn could not download .*no-such-version"):
        fetch_server(absent, cache=cache)


def test_without_maven_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteMissing, match=r"mvn .* is not on the PATH\. Install it"):
        fetch_server(_SMALL, cache=tmp_path)
