"""Files that options name, read without waiting for ever: opening or reading a pipe or a device may never end."""

from __future__ import annotations

import os
import stat


def read_regular_file(path: str) -> bytes:
    """Return the content of a file. Raises OSError, also for what is no regular file."""
    # Without O_NONBLOCK, opening a pipe would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 -- a descriptor, no path
        check_regular_file(os.fstat(descriptor))
        return file.read()


def check_regular_file(status: os.stat_result) -> None:
    """Raise OSError for a folder, a pipe or a device."""
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is no regular file")
