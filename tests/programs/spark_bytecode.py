"""Puts the bytecode of PySpark into the archives from which Spark's Python processes import it.

    spark_bytecode.py FOLDER

FOLDER is that of the package `pyspark`. Python keeps no bytecode for what it imports from an archive, so each process
that Spark starts compiles PySpark again, for half a second. Archives are replaced, never changed: another environment
may share the file.
"""

from __future__ import annotations

import py_compile
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path


def main() -> None:
    for archive in (Path(sys.argv[1]) / "python" / "lib").glob("*.zip"):
        arriving = archive.with_suffix(".new")
        shutil.copyfile(archive, arriving)
        add_bytecode(arriving)
        arriving.replace(archive)


def add_bytecode(archive: Path) -> None:
    with (
        zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as packed,
        tempfile.TemporaryDirectory() as folder,
    ):
        source, compiled = Path(folder, "source.py"), Path(folder, "compiled.pyc")
        names = set(packed.namelist())
        for name in sorted(names):
            if not name.endswith(".py") or "/tests/" in name or f"{name}c" in names:
                continue
            source.write_bytes(packed.read(name))
            # Not checked against the source, whose time in an archive is good to two seconds only.
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(source), str(compiled), name, doraise=True, invalidation_mode=mode)
            packed.write(compiled, f"{name}c")


if __name__ == "__main__":
    main()
