"""Runs of the user's own Maven, and the progress of its downloads.

Maven is used because it knows the user's mirrors, proxies and certificates (`settings.xml`), and because the server
needs a JDK anyway. Maven uses a separate local repository inside the cache. So this module can measure the progress,
and delete the files after unpacking.
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
"""A function that receives the number of bytes that have arrived so far."""


def run_maven(
    arguments: list[str],
    repository: Path,
    *,
    wanted: str,
    arrived: Callable[[], int],
    follow: Follow,
    deadline: float,
) -> None:
    """Run `mvn` until it ends, or until the monotonic clock reaches `deadline`.

    Args:
        arguments: The arguments for Maven.
        repository: The folder of the local repository.
        wanted: The name of the download, for error texts.
        arrived: A function that returns the number of bytes that have arrived.
        follow: A function that receives the number of arrived bytes, four times a second.
        deadline: The time at which Maven is killed, in seconds of the monotonic clock.

    Raises:
        PrerequisiteMissing: The program `mvn` is not installed.
        StandaloneFailed: Maven failed, or was too slow.

    """
    maven = shutil.which("mvn")
    if maven is None:
        msg = (
            "mvn (Apache Maven), which downloads the Pulsar server once, is not on the PATH. Install it, for example "
            "by `apt-get install maven` or `brew install maven`."
        )
        raise PrerequisiteMissing(msg)
    repository.mkdir(parents=True, exist_ok=True)
    log = repository / "mvn.log"
    command = [maven, "--batch-mode", f"-Dmaven.repo.local={repository}", *arguments]
    with log.open("w") as output:
        maven_run = subprocess.Popen(  # noqa: S603 - the user's own mvn with our own arguments
            command, cwd=repository, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        code = _follow_to_the_end(maven_run, lambda: follow(arrived()), deadline)
    if code != 0:
        end = "\n".join(line for line in log.read_text(errors="replace").splitlines() if "ERROR" in line)
        msg = (
            f"mvn could not download {wanted} (exit code {code}, whole log {log}). Check the network and Maven's "
            f"settings.xml:\n{end}"
        )
        raise StandaloneFailed(msg)


def _follow_to_the_end(
    maven_run: subprocess.Popen[bytes], report_progress: Callable[[], None], deadline: float
) -> int:
    try:
        while True:
            try:
                return maven_run.wait(0.25)
            except subprocess.TimeoutExpired:
                report_progress()
            if time.monotonic() >= deadline:
                msg = (
                    "the download of the Pulsar server did not end in time; try again on a faster connection."
                )
                raise StandaloneFailed(msg)
    finally:
        if maven_run.poll() is None:
            maven_run.kill()
            maven_run.wait()


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 if the file does not exist, or is being renamed."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextlib.contextmanager
def progress(title: str, size: int) -> Iterator[Follow]:
    """Report progress on standard error, as a bar for `size` bytes on a terminal, and otherwise as one line."""
    if not sys.stderr.isatty():
        print_line(f"{title} ({size / _MEGABYTE:.0f} MB) from Maven Central, once.")
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=size)
        yield lambda arrived: bar.update(task, completed=arrived)


def print_line(line: str) -> None:
    """Print to standard error without buffering."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
