"""Brings a server into the cache through the user's own Maven: a distribution, or the libraries of one."""

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
    progress,
    run_maven,
    say,
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
    """The folder of the server, with Pulsar's `bin`, `conf` and `lib`; downloads it first where that is needed.

    Safe to call from several processes at once: one downloads, the others wait for it. A copy that is
    incomplete or damaged is fetched again. Progress goes to standard error: a bar on a terminal, else
    one line. Raises `PrerequisiteMissing` without `mvn`, `StandaloneFailed` when the download fails, is
    not what was published twice in a row, or takes longer than `deadline_seconds`.
    """
    folder = (cache or cache_root()) / "server"
    home = folder / server.folder
    if unpacked_is_whole(server, home):
        return home
    give_up = time.monotonic() + deadline_seconds
    if isinstance(server, ServerLibraries):
        # Before the lock is taken, as this takes it too.
        fetch_server(server.base, cache=cache, deadline_seconds=deadline_seconds)

    def say_wait() -> None:
        say(f"Another process is fetching {server.coordinates}; waiting for it.")

    with locked(
        folder / ".lock", deadline_seconds=deadline_seconds, doing="fetching the server", on_wait=say_wait
    ):
        if unpacked_is_whole(server, home):
            return home
        for leftover in folder.glob(f"{WORKPLACE_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        repository = folder / "maven"
        if isinstance(server, ServerArtifact):
            archive = _fetch_archive(server, repository, give_up)
            unpack(server, archive, home)
            shutil.rmtree(archive.parent, ignore_errors=True)
        else:
            _put_together(server, folder, repository, give_up)
    return home


def _fetch_archive(artifact: ServerArtifact, repository: Path, give_up: float) -> Path:
    archive = repository / artifact.repository_path
    for _ in range(_ATTEMPTS):
        if archive_is_whole(artifact, archive):
            return archive
        # Maven believes in whatever its repository holds, so a damaged file must go before it is asked.
        shutil.rmtree(archive.parent, ignore_errors=True)
        _get_archive(artifact, repository, archive.parent, give_up)
    if archive_is_whole(artifact, archive):
        return archive
    size = size_of(archive)
    shutil.rmtree(archive.parent, ignore_errors=True)
    msg = (
        f"expected {artifact.coordinates} with {artifact.size} bytes and SHA-512 {artifact.sha512[:16]}..., "
        f"got another file of {size} bytes, {_ATTEMPTS} times. The Maven repository or mirror that mvn uses "
        "serves a wrong file; check its settings.xml."
    )
    raise StandaloneFailed(msg)


def _get_archive(artifact: ServerArtifact, repository: Path, arriving: Path, give_up: float) -> None:
    def arrived() -> int:
        # The name of the unfinished file differs between Maven versions; all contain this.
        return max((size_of(path) for path in arriving.glob("*.tar.gz*")), default=0)

    goal = [f"{DEPENDENCY_PLUGIN}:get", f"-Dartifact={artifact.coordinates}", "-Dtransitive=false"]
    with progress(f"Downloading {artifact.name} {artifact.version}", artifact.size) as follow:
        run_maven(
            goal, repository, wanted=artifact.coordinates, arrived=arrived, follow=follow, give_up=give_up
        )


def _put_together(server: ServerLibraries, folder: Path, repository: Path, give_up: float) -> None:
    """Make the server in `folder` of its libraries, and of the distribution there that it is based on."""
    base = folder / server.base.folder
    with workplace_in(folder) as workplace:
        made = workplace / server.folder
        made.mkdir()
        for attempt in range(_ATTEMPTS):
            _get_libraries(server, repository, workplace / "pom.xml", give_up)
            try:
                copy_libraries(server, repository, made / "lib")
            except StandaloneFailed:
                if attempt == _ATTEMPTS - 1:
                    raise
                shutil.rmtree(made / "lib")
            else:
                break
        # The programs beside it need libraries that are published in distributions only.
        (made / "bin").mkdir()
        shutil.copy2(base / "bin" / "pulsar", made / "bin")
        shutil.copytree(base / "conf", made / "conf")
        place(server, made, folder / server.folder, workplace)
    for library in server.libraries:
        shutil.rmtree(repository / library.repository_folder, ignore_errors=True)


def _get_libraries(server: ServerLibraries, repository: Path, pom: Path, give_up: float) -> None:
    jars = [repository / library.repository_folder / library.file for library in server.libraries]
    pom.write_text(server.pom, encoding="utf-8")
    # A wrong checksum is an error; what arrives is compared with what is pinned, too.
    goal = ["--strict-checksums", "--file", str(pom), f"{DEPENDENCY_PLUGIN}:resolve"]
    with progress(f"Downloading {server.coordinates}", server.size) as follow:
        run_maven(
            goal,
            repository,
            wanted=server.coordinates,
            arrived=lambda: sum(map(size_of, jars)),
            follow=follow,
            give_up=give_up,
        )
