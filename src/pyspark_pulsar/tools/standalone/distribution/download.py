"""The download of a distribution, or of a server's libraries, into the cache with the user's own Maven."""

import shutil
import time
from pathlib import Path

from pyspark_pulsar.errors import StandaloneFailed
from pyspark_pulsar.tools.standalone.cache import cache_root, locked
from pyspark_pulsar.tools.standalone.distribution.artifact import (
    WORKPLACE_PREFIX,
    ServerArtifact,
    archive_is_whole,
    place,
    unpack,
    unpacked_is_whole,
    workplace_in,
)
from pyspark_pulsar.tools.standalone.distribution.libraries import ServerLibraries, copy_libraries
from pyspark_pulsar.tools.standalone.distribution.maven import (
    DEPENDENCY_PLUGIN,
    print_line,
    progress,
    run_maven,
    size_of,
)
from pyspark_pulsar.tools.standalone.distribution.versions import PULSAR_SERVER

_ATTEMPTS = 2


def fetch_server(
    server: ServerArtifact | ServerLibraries = PULSAR_SERVER,
    *,
    cache: Path | None = None,
    deadline_seconds: float = 1800.0,
) -> Path:
    """Return the folder of a server, with Pulsar's `bin`, `conf` and `lib`. Download the server first if necessary.

    Several processes can call this function at the same time. One process downloads, and the other processes wait. An
    incomplete or damaged copy is downloaded again. Progress is printed to standard error, as a bar on a terminal, and
    otherwise as one line.

    Args:
        server: The version to fetch.
        cache: The folder of the cache; `cache_root` by default. Servers are in its folder `server`.
        deadline_seconds: The longest duration.

    Raises:
        PrerequisiteMissing: The program `mvn` is not installed.
        StandaloneFailed: The download failed, was too slow, or had wrong checksums twice.

    """
    folder = (cache or cache_root()) / "server"
    home = folder / server.folder
    if unpacked_is_whole(server, home):
        return home
    deadline = time.monotonic() + deadline_seconds
    if isinstance(server, ServerLibraries):
        # This call acquires the same lock, so it must return before the lock is acquired below.
        fetch_server(server.base, cache=cache, deadline_seconds=deadline_seconds)

    def report_wait() -> None:
        print_line(f"Another process is fetching {server.coordinates}; waiting for it.")

    with locked(
        folder / ".lock", deadline_seconds=deadline_seconds, doing="fetching the server", on_wait=report_wait
    ):
        if unpacked_is_whole(server, home):
            return home
        for leftover in folder.glob(f"{WORKPLACE_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        repository = folder / "maven"
        if isinstance(server, ServerArtifact):
            archive = _fetch_archive(server, repository, deadline)
            unpack(server, archive, home)
            shutil.rmtree(archive.parent, ignore_errors=True)
        else:
            _assemble(server, folder, repository, deadline)
    return home


def _fetch_archive(artifact: ServerArtifact, repository: Path, deadline: float) -> Path:
    archive = repository / artifact.repository_path
    for _ in range(_ATTEMPTS):
        if archive_is_whole(artifact, archive):
            return archive
        # Maven trusts the content of its repository, so delete a damaged file before running Maven.
        shutil.rmtree(archive.parent, ignore_errors=True)
        _get_archive(artifact, repository, archive.parent, deadline)
    if archive_is_whole(artifact, archive):
        return archive
    size = size_of(archive)
    shutil.rmtree(archive.parent, ignore_errors=True)
    msg = (
        f"expected {artifact.coordinates} with {artifact.size} bytes and SHA-512 {artifact.sha512[:16]}..., "
        f"got another file of {size} bytes, {_ATTEMPTS} times. The Maven repository or mirror that mvn uses "
        "serves a wrong file; check Maven's settings.xml."
    )
    raise StandaloneFailed(msg)


def _get_archive(artifact: ServerArtifact, repository: Path, arriving: Path, deadline: float) -> None:
    def arrived() -> int:
        # Maven versions name the unfinished file in different ways. All names match this pattern.
        return max((size_of(path) for path in arriving.glob("*.tar.gz*")), default=0)

    goal = [f"{DEPENDENCY_PLUGIN}:get", f"-Dartifact={artifact.coordinates}", "-Dtransitive=false"]
    with progress(f"Downloading {artifact.name} {artifact.version}", artifact.size) as follow:
        run_maven(
            goal, repository, wanted=artifact.coordinates, arrived=arrived, follow=follow, deadline=deadline
        )


def _assemble(server: ServerLibraries, folder: Path, repository: Path, deadline: float) -> None:
    """Assemble a server in `folder` from its libraries and its base distribution, which is in `folder` already."""
    base = folder / server.base.folder
    with workplace_in(folder) as workplace:
        made = workplace / server.folder
        made.mkdir()
        for attempt in range(_ATTEMPTS):
            _get_libraries(server, repository, workplace / "pom.xml", deadline)
            try:
                copy_libraries(server, repository, made / "lib")
            except StandaloneFailed:
                if attempt == _ATTEMPTS - 1:
                    raise
                shutil.rmtree(made / "lib")
            else:
                break
        # Copy only the program `pulsar`, because the other programs need libraries that only distributions contain.
        (made / "bin").mkdir()
        shutil.copy2(base / "bin" / "pulsar", made / "bin")
        shutil.copytree(base / "conf", made / "conf")
        place(server, made, folder / server.folder, workplace)
    for library in server.libraries:
        shutil.rmtree(repository / library.repository_folder, ignore_errors=True)


def _get_libraries(server: ServerLibraries, repository: Path, pom: Path, deadline: float) -> None:
    jars = [repository / library.repository_folder / library.file for library in server.libraries]
    pom.write_text(server.pom, encoding="utf-8")
    # Maven reports a wrong checksum as an error. The downloaded files are also compared with the pinned checksums.
    goal = ["--strict-checksums", "--file", str(pom), f"{DEPENDENCY_PLUGIN}:resolve"]
    with progress(f"Downloading {server.coordinates}", server.size) as follow:
        run_maven(
            goal,
            repository,
            wanted=server.coordinates,
            arrived=lambda: sum(map(size_of, jars)),
            follow=follow,
            deadline=deadline,
        )
