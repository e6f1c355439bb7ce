"""The folder for server distributions and data of instances, and a lock for processes that use the folder."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark_pulsar.errors import StandaloneFailed

_POLL_SECONDS = 0.1


def cache_root() -> Path:
    """Return `$PYSPARK_PULSAR_CACHE`, or `$XDG_CACHE_HOME/pyspark-pulsar`, or `~/.cache/pyspark-pulsar`.

    The first variable that is set determines the folder. The folder need not exist. A relative `$XDG_CACHE_HOME` is
    ignored, because the XDG specification requires this.
    """
    own = os.environ.get("PYSPARK_PULSAR_CACHE", "")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(shared) if shared and Path(shared).is_absolute() else Path.home() / ".cache"
    return base / "pyspark-pulsar"


@contextlib.contextmanager
def locked(
    path: Path, *, deadline_seconds: float, doing: str, on_wait: Callable[[], None] | None = None
) -> Iterator[None]:
    """Lock the file `path` exclusively. Other processes and threads of this machine wait for the lock.

    The kernel releases the lock if the process that holds the lock dies.

    Args:
        path: The lock file.
        deadline_seconds: The longest wait for the lock.
        doing: A description of the work under the lock, for the error text.
        on_wait: A function that is called once if the lock is not free.

    Raises:
        StandaloneFailed: The lock was not free in time.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + deadline_seconds
    with path.open("a") as handle:
        while not _try_lock(handle.fileno()):
            if on_wait is not None:
                on_wait()
                on_wait = None
            if time.monotonic() >= deadline:
                msg = (
                    f"another process is still {doing} after {deadline_seconds:.0f} s (lock file {path}). Wait until "
                    f"that process ends, or end that process, and try again."
                )
                raise StandaloneFailed(msg)
            time.sleep(_POLL_SECONDS)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
