"""Reads of files that options name. A pipe or a device is refused, because reading such a file may never end."""

from __future__ import annotations

import os
import stat


def read_regular_file(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: If the file cannot be read or is not a regular file.

    """
    # Without O_NONBLOCK, opening a pipe would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 -- a descriptor, no path
        check_regular_file(os.fstat(descriptor))
        return file.read()


def check_regular_file(status: os.stat_result) -> None:
    """Raise OSError if the status belongs to a directory, a pipe or a device."""
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is no regular file; set the path of a regular file")
