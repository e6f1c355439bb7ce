"""One run of the user's own Maven, followed while it goes on.

Maven, because it knows the user's mirrors, proxies and certificates (`settings.xml`), and because the server needs a
JDK anyway. It works in a local repository of our own inside the cache, so that what arrives can be followed, and be
removed once it is unpacked.
"""

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark_pulsar.errors import PrerequisiteMissing, StandaloneFailed

DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_MEGABYTE = 1_000_000

Follow = Callable[[int], None]
"""Told the number of bytes that have arrived so far."""


def run_maven(
    arguments: list[str],
    repository: Path,
    *,
    wanted: str,
    arrived: Callable[[], int],
    follow: Follow,
    give_up: float,
) -> None:
    """Run `mvn` with its local repository in `repository`, until it ends or the monotonic clock says `give_up`.

    `wanted` names in errors what is fetched; `follow` is told what `arrived` says, four times a second. Raises
    `PrerequisiteMissing` without `mvn`, `StandaloneFailed` when it fails or takes too long.
    """
    maven = shutil.which("mvn")
    if maven is None:
        msg = (
            "mvn (Apache Maven) is needed once, to download the Pulsar server, and is not on the PATH. "
            "Install it, e.g. `apt-get install maven` or `brew install maven`."
        )
        raise PrerequisiteMissing(msg)
    repository.mkdir(parents=True, exist_ok=True)
    log = repository / "mvn.log"
    command = [maven, "--batch-mode", f"-Dmaven.repo.local={repository}", *arguments]
    with log.open("w") as output:
        maven_run = subprocess.Popen(  # noqa: S603 - the user's own mvn with our own arguments
            command, cwd=repository, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        code = _follow_to_the_end(maven_run, lambda: follow(arrived()), give_up)
    if code != 0:
        end = "\n".join(line for line in log.read_text(errors="replace").splitlines() if "ERROR" in line)
        msg = f"mvn could not download {wanted} (exit code {code}, whole log {log}):\n{end}"
        raise StandaloneFailed(msg)


def _follow_to_the_end(maven_run: subprocess.Popen[bytes], look: Callable[[], None], give_up: float) -> int:
    try:
        while True:
            try:
                return maven_run.wait(0.25)
            except subprocess.TimeoutExpired:
                look()
            if time.monotonic() >= give_up:
                msg = (
                    "the download of the Pulsar server did not end in time; try again on a faster connection."
                )
                raise StandaloneFailed(msg)
    finally:
        if maven_run.poll() is None:
            maven_run.kill()
            maven_run.wait()


def size_of(path: Path) -> int:
    """In bytes; 0 for a file that is not there, or is being renamed."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextlib.contextmanager
def progress(title: str, size: int) -> Iterator[Follow]:
    """To standard error: a bar of `size` bytes on a terminal, else one line."""
    if not sys.stderr.isatty():
        say(f"{title} ({size / _MEGABYTE:.0f} MB) from Maven Central, once.")
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=size)
        yield lambda arrived: bar.update(task, completed=arrived)


def say(line: str) -> None:
    """Print to standard error, at once."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
