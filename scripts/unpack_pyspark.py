"""Unpack a version of PySpark into a folder: `python scripts/unpack_pyspark.py REQUIREMENTS FOLDER`.

PySpark is published as source only. pip would build a wheel of it, and so pack 450 MB of jars, and unpack them
again. This program has pip download and verify the archive, and writes its files to the same paths as that wheel.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def unpack(requirements: Path, folder: Path) -> None:
    """Download the archive that the requirements lock by its hash, and unpack it.

    Args:
        requirements: One requirement, `pyspark==VERSION`, with a hash.
        folder: A folder for `sys.path`, which gets the package `pyspark`.

    """
    with tempfile.TemporaryDirectory() as scratch:
        download = ["download", "--quiet", "--require-hashes", "--no-deps", "--dest", scratch]
        subprocess.run([sys.executable, "-m", "pip", *download, "-r", str(requirements)], check=True)
        (archive,) = Path(scratch).glob("pyspark-*.tar.gz")
        with tarfile.open(archive) as source:
            source.extractall(folder, members=_members(source), filter="data")


# Where pyspark's setup.py puts the folders of its source; examples are left out.
_FOLDERS = {
    ("pyspark",): "pyspark",
    ("deps", "bin"): "pyspark/bin",
    ("deps", "jars"): "pyspark/jars",
    ("deps", "sbin"): "pyspark/sbin",
    ("lib",): "pyspark/python/lib",
    ("pyspark.egg-info",): "pyspark.egg-info",  # the version, for importlib.metadata
}


def _members(source: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the files that a wheel would contain, with their paths in the wheel."""
    for member in source:
        _, *parts = PurePosixPath(member.name).parts
        for depth in (1, 2):
            folder = _FOLDERS.get(tuple(parts[:depth]))
            if member.isfile() and folder and len(parts) > depth:
                member.name = str(PurePosixPath(folder, *parts[depth:]))
                yield member


if __name__ == "__main__":
    unpack(Path(sys.argv[1]), Path(sys.argv[2]))
