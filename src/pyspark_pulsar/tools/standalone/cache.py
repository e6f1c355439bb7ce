"""Where the server distribution and the instances' data live, and how processes take turns there."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark_pulsar.errors import StandaloneFailed

_POLL_SECONDS = 0.1


def cache_root() -> Path:
    """`$PYSPARK_PULSAR_CACHE`, else `$XDG_CACHE_HOME/pyspark-pulsar`, else `~/.cache/pyspark-pulsar`.

    Not created here. An XDG folder that is not absolute is ignored, as the XDG specification asks.
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
    """Hold the exclusive lock file `path`; other processes and threads of this machine wait for it.

    The lock is the kernel's, so it is free again when its holder dies. `on_wait` is called once if the
    lock is taken. Raises StandaloneFailed when it is still taken after `deadline_seconds`; `doing` says
    in that message what the holder is doing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    give_up = time.monotonic() + deadline_seconds
    with path.open("a") as handle:
        while not _try_lock(handle.fileno()):
            if on_wait is not None:
                on_wait()
                on_wait = None
            if time.monotonic() >= give_up:
                msg = (
                    f"waited {deadline_seconds:.0f} s for another process that is {doing} "
                    f"(lock file {path}). Let it finish or end it, then try again."
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
