import hashlib
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pyspark_pulsar.errors import OptionError, StandaloneFailed
from pyspark_pulsar.tools.standalone import SERVER_VERSIONS, ServerArtifact, ServerLibraries, server_of
from pyspark_pulsar.tools.standalone.distribution import libraries
from pyspark_pulsar.tools.standalone.distribution.libraries import Library, copy_libraries
from pyspark_pulsar.tools.standalone.distribution.versions import is_older

PUT_TOGETHER = [server for server in map(server_of, SERVER_VERSIONS) if isinstance(server, ServerLibraries)]
_POM = "{http://maven.apache.org/POM/4.0.0}"


@pytest.mark.parametrize("server", PUT_TOGETHER, ids=lambda server: server.version)
def test_a_list_names_each_library_once_and_the_broker_of_its_version(server: ServerLibraries) -> None:
    names = [(each.group, each.artifact, each.classifier) for each in server.libraries]
    assert len(set(names)) == len(names) > 200
    assert len({each.file_with_group for each in server.libraries}) == len(names)
    versions = {each.artifact: each.version for each in server.libraries}
    assert versions["pulsar-broker"] == versions["managed-ledger"] == server.version
    assert any(artifact.startswith("log4j-slf4j") for artifact in versions)
    assert all(re.fullmatch(r"[0-9a-f]{64}", each.sha256) for each in server.libraries)
    assert 100_000_000 < server.size < 500_000_000


def test_a_line_of_a_list_is_read_as_it_is_written() -> None:
    line = f"org.example.parts:thing:1.2:tests 7 {'0' * 64}"
    library = Library.parse(line)
    assert library.line == line
    assert library.repository_folder == "org/example/parts/thing/1.2"
    assert library.file == "thing-1.2-tests.jar"
    assert library.file_with_group == "org.example.parts-thing-1.2-tests.jar"
    assert Library.parse(line.replace(":tests", "")).file == "thing-1.2.jar"


def test_the_project_names_the_libraries_and_nothing_that_they_need() -> None:
    server = PUT_TOGETHER[0]
    dependencies = ET.fromstring(server.pom).findall(f"{_POM}dependencies/{_POM}dependency")
    named = [(each.findtext(f"{_POM}artifactId"), each.findtext(f"{_POM}version")) for each in dependencies]
    assert named == [(each.artifact, each.version) for each in server.libraries]
    excluded = [each.findtext(f"{_POM}exclusions/{_POM}exclusion/{_POM}artifactId") for each in dependencies]
    assert set(excluded) == {"*"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> ServerLibraries:
    contents = {"a": b"aaa", "b": b"bb"}
    lines = [
        f"org.example:{name}:1 {len(content)} {hashlib.sha256(content).hexdigest()}"
        for name, content in contents.items()
    ]
    monkeypatch.setattr(libraries, "_pinned", lambda _: "\n".join(lines))
    base = ServerArtifact("org.example", "server", "1", 1, "0" * 128, "server-1")
    return ServerLibraries("1", base=base)


@pytest.fixture
def repository(server: ServerLibraries, tmp_path: Path) -> Path:
    for library, content in zip(server.libraries, (b"aaa", b"bb"), strict=True):
        folder = tmp_path / "repository" / library.repository_folder
        folder.mkdir(parents=True)
        (folder / library.file).write_bytes(content)
    return tmp_path / "repository"


def test_libraries_are_copied_under_names_with_their_group(
    server: ServerLibraries, repository: Path, tmp_path: Path
) -> None:
    copy_libraries(server, repository, tmp_path / "lib")
    found = {path.name: path.read_bytes() for path in (tmp_path / "lib").iterdir()}
    assert found == {"org.example-a-1.jar": b"aaa", "org.example-b-1.jar": b"bb"}


@pytest.mark.parametrize("content", [b"bc", b"b", None], ids=["changed", "cut", "gone"])
def test_a_library_that_is_not_the_pinned_one_is_refused_and_forgotten(
    server: ServerLibraries, repository: Path, tmp_path: Path, content: bytes | None
) -> None:
    jar = repository / "org" / "example" / "b" / "1" / "b-1.jar"
    if content is None:
        jar.unlink()
    else:
        jar.write_bytes(content)
    with pytest.raises(StandaloneFailed, match=r"pinned checksums, got other files: b-1\.jar\."):
        copy_libraries(server, repository, tmp_path / "lib")
    assert not jar.exists()


def test_an_unknown_version_is_refused_with_the_available_ones() -> None:
    with pytest.raises(OptionError, match=r"cannot be Pulsar 4\.1\.0; it can be 3\.0\.7, .*4\.0\.8, 4\.2\.4"):
        server_of("4.1.0")


def test_versions_are_listed_from_the_oldest() -> None:
    assert is_older("3.3.6", "4.0.8")
    assert not is_older("4.0.8", "4.0.8")
    assert not is_older("5.0.0-M1", "4.2.4")
    assert not is_older("unknown", "4.2.4")
