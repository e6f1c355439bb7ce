"""Brings the server distribution into the cache through the user's own Maven.

Maven, because it knows the user's mirrors, proxies and certificates (`settings.xml`), and because the
server needs a JDK anyway. It works in a local repository of our own inside the cache, so that the size
of the growing file can be followed, and its copy of the archive be removed once that is unpacked.
"""

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark_pulsar.errors import PrerequisiteMissing, StandaloneFailed
from pyspark_pulsar.standalone.artifact import (
    PULSAR_SERVER,
    ServerArtifact,
    archive_is_whole,
    unpack,
    unpacked_is_whole,
)
from pyspark_pulsar.standalone.cache import cache_root, locked

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get"
_ATTEMPTS = 2
_MEGABYTE = 1_000_000

Follow = Callable[[int], None]
"""Told the number of bytes that have arrived so far."""


def fetch_server(
    artifact: ServerArtifact = PULSAR_SERVER, *, cache: Path | None = None, deadline_seconds: float = 1800.0
) -> Path:
    """The folder of the unpacked distribution; downloads and unpacks it first where that is needed.

    Safe to call from several processes at once: one downloads, the others wait for it. A copy that is
    incomplete or damaged is fetched again. Progress goes to standard error: a bar on a terminal, else
    one line. Raises `PrerequisiteMissing` without `mvn`, `StandaloneFailed` when the download fails, is
    not the published file twice in a row, or takes longer than `deadline_seconds`.
    """
    folder = (cache or cache_root()) / "server"
    home = folder / artifact.folder
    if unpacked_is_whole(artifact, home):
        return home
    give_up = time.monotonic() + deadline_seconds

    def say_wait() -> None:
        _say(f"Another process is fetching {artifact.coordinates}; waiting for it.")

    with locked(
        folder / ".lock", deadline_seconds=deadline_seconds, doing="fetching the server", on_wait=say_wait
    ):
        if unpacked_is_whole(artifact, home):
            return home
        for leftover in folder.glob(".unpack-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        repository = folder / "maven"
        archive = _fetch_archive(artifact, repository, give_up)
        unpack(artifact, archive, home)
        shutil.rmtree(archive.parent, ignore_errors=True)
    return home


def _fetch_archive(artifact: ServerArtifact, repository: Path, give_up: float) -> Path:
    archive = repository / artifact.repository_path
    for _ in range(_ATTEMPTS):
        if archive_is_whole(artifact, archive):
            return archive
        # Maven believes in whatever its repository holds, so a damaged file must go before it is asked.
        shutil.rmtree(archive.parent, ignore_errors=True)
        _run_maven(artifact, repository, archive.parent, give_up)
    if archive_is_whole(artifact, archive):
        return archive
    size = archive.stat().st_size if archive.is_file() else 0
    shutil.rmtree(archive.parent, ignore_errors=True)
    msg = (
        f"expected {artifact.coordinates} with {artifact.size} bytes and SHA-512 {artifact.sha512[:16]}..., "
        f"got another file of {size} bytes, {_ATTEMPTS} times. The Maven repository or mirror that mvn uses "
        "serves a wrong file; check its settings.xml."
    )
    raise StandaloneFailed(msg)


def _run_maven(artifact: ServerArtifact, repository: Path, arriving: Path, give_up: float) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        msg = (
            "mvn (Apache Maven) is needed once, to download the Pulsar server, and is not on the PATH. "
            "Install it, e.g. `apt-get install maven` or `brew install maven`."
        )
        raise PrerequisiteMissing(msg)
    repository.mkdir(parents=True, exist_ok=True)
    log = repository / "mvn.log"
    command = [maven, "--batch-mode", _PLUGIN, f"-Dmaven.repo.local={repository}"]
    command += [f"-Dartifact={artifact.coordinates}", "-Dtransitive=false"]
    with log.open("w") as output, _progress(artifact) as follow:
        maven_run = subprocess.Popen(  # noqa: S603 - the user's own mvn with our own arguments
            command, cwd=repository, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        code = _follow_to_the_end(maven_run, arriving, follow, give_up)
    if code != 0:
        end = "\n".join(line for line in log.read_text(errors="replace").splitlines() if "ERROR" in line)
        msg = f"mvn could not download {artifact.coordinates} (exit code {code}, whole log {log}):\n{end}"
        raise StandaloneFailed(msg)


def _follow_to_the_end(
    maven_run: subprocess.Popen[bytes], arriving: Path, follow: Follow, give_up: float
) -> int:
    try:
        while True:
            try:
                return maven_run.wait(0.25)
            except subprocess.TimeoutExpired:
                # The name of the unfinished file differs between Maven versions; all contain this.
                sizes = [_size(path) for path in arriving.glob("*.tar.gz*")]
                follow(max(sizes, default=0))
            if time.monotonic() >= give_up:
                msg = (
                    "the download of the Pulsar server did not end in time; try again on a faster connection."
                )
                raise StandaloneFailed(msg)
    finally:
        if maven_run.poll() is None:
            maven_run.kill()
            maven_run.wait()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # Maven renamed it between the listing and this look.
        return 0


@contextlib.contextmanager
def _progress(artifact: ServerArtifact) -> Iterator[Follow]:
    title = f"Downloading {artifact.name} {artifact.version}"
    if not sys.stderr.isatty():
        _say(f"{title} ({artifact.size / _MEGABYTE:.0f} MB) from Maven Central, once.")
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=artifact.size)
        yield lambda arrived: bar.update(task, completed=arrived)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
