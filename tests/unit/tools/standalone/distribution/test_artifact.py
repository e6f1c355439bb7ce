import hashlib
import tarfile
from pathlib import Path

import pytest

from pyspark_pulsar.errors import StandaloneFailed
from pyspark_pulsar.tools.standalone.distribution.artifact import (
    ServerArtifact,
    archive_is_whole,
    unpack,
    unpacked_is_whole,
)
from pyspark_pulsar.tools.standalone.distribution.versions import PULSAR_SERVER


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    content = tmp_path / "content"
    (content / "server-1" / "lib").mkdir(parents=True)
    (content / "server-1" / "lib" / "a.jar").write_bytes(b"a" * 1000)
    (content / "server-1" / "run").write_text("#!/bin/sh\n")
    (content / "server-1" / "run").chmod(0o755)
    path = tmp_path / "server-1-bin.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        packed.add(content / "server-1", "server-1")
    return path


@pytest.fixture
def artifact(archive: Path) -> ServerArtifact:
    return ServerArtifact(
        group="org.example",
        name="server",
        version="1",
        size=archive.stat().st_size,
        sha512=hashlib.sha512(archive.read_bytes()).hexdigest(),
        folder="server-1",
    )


def test_names_in_maven() -> None:
    assert PULSAR_SERVER.coordinates == "org.apache.pulsar:pulsar-server-distribution:4.0.8:tar.gz:bin"
    assert PULSAR_SERVER.repository_path == (
        "org/apache/pulsar/pulsar-server-distribution/4.0.8/pulsar-server-distribution-4.0.8-bin.tar.gz"
    )


def test_an_archive_is_whole_only_with_the_published_bytes(archive: Path, artifact: ServerArtifact) -> None:
    assert archive_is_whole(artifact, archive)
    content = archive.read_bytes()
    archive.write_bytes(content[:-1])
    assert not archive_is_whole(artifact, archive)
    archive.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert not archive_is_whole(artifact, archive)
    archive.unlink()
    assert not archive_is_whole(artifact, archive)


def test_unpacked_files_keep_content_and_mode(
    archive: Path, artifact: ServerArtifact, tmp_path: Path
) -> None:
    home = tmp_path / "cache" / "server-1"
    unpack(artifact, archive, home)
    assert unpacked_is_whole(artifact, home)
    assert (home / "lib" / "a.jar").read_bytes() == b"a" * 1000
    assert (home / "run").stat().st_mode & 0o100
    assert [path.name for path in home.parent.iterdir()] == ["server-1"]


@pytest.mark.parametrize("damage", ["cut", "gone", "listing gone", "listing cut", "no folder"])
def test_damage_to_unpacked_files_is_seen_and_repaired(
    archive: Path, artifact: ServerArtifact, tmp_path: Path, damage: str
) -> None:
    home = tmp_path / "cache" / "server-1"
    unpack(artifact, archive, home)
    listing = next(home.glob(".*.json"))
    match damage:
        case "cut":
            (home / "lib" / "a.jar").write_bytes(b"a" * 999)
        case "gone":
            (home / "run").unlink()
        case "listing gone":
            listing.unlink()
        case "listing cut":
            listing.write_text(listing.read_text()[:20])
        case _:
            home.rename(home.with_name("elsewhere"))
    assert not unpacked_is_whole(artifact, home)
    unpack(artifact, archive, home)
    assert unpacked_is_whole(artifact, home)


def test_files_of_another_version_are_not_taken_for_this_one(
    archive: Path, artifact: ServerArtifact, tmp_path: Path
) -> None:
    unpack(artifact, archive, tmp_path / "home")
    other = ServerArtifact("org.example", "server", "2", artifact.size, "0" * 128, "server-1")
    assert not unpacked_is_whole(other, tmp_path / "home")


def test_an_archive_without_the_expected_folder_leaves_nothing(
    archive: Path, artifact: ServerArtifact, tmp_path: Path
) -> None:
    other = ServerArtifact("org.example", "server", "1", artifact.size, artifact.sha512, "server-2")
    with pytest.raises(StandaloneFailed, match="expected the folder server-2"):
        unpack(other, archive, tmp_path / "cache" / "server-2")
    assert list((tmp_path / "cache").iterdir()) == []
