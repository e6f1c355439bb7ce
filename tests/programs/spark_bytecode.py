"""A tool that puts the bytecode of PySpark into the archives from which Spark's Python processes import it.

    spark_bytecode.py FOLDER

FOLDER is the folder of the package `pyspark`. Python does not cache the bytecode of modules in an archive. Without this
tool, each process that Spark starts needs half a second to compile PySpark again. The tool replaces each archive
instead of changing the file, because another environment can share the file.
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
            # Python does not check this bytecode against its source, because times in an archive are exact to two
            # seconds only.
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(source), str(compiled), name, doraise=True, invalidation_mode=mode)
            packed.write(compiled, f"{name}c")


if __name__ == "__main__":
    main()
