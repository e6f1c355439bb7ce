"""Build backend for the wheel.

javac compiles the catalog's jar against the installed PySpark, and maturin builds the rest.

The backend (PEP 517, PEP 660) is in the tree. `python jvm/build_jar.py` builds the jar alone. A JDK 17 or
later is required.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import maturin

_ROOT = Path(__file__).resolve().parent.parent
_SOURCES = _ROOT / "jvm" / "src"
_JAR = _ROOT / "src" / "pyspark_pulsar" / "jars" / "pyspark-pulsar-catalog.jar"
_BYTECODE = "17"  # The oldest Java that Spark 4 runs on.
# A fixed time makes the jar of equal sources equal, byte by byte.
_MOMENT = (2020, 1, 1, 0, 0, 0)


def build_jar() -> Path:
    """Compile the catalog, and return the path of the jar.

    Raises:
        SystemExit: A prerequisite is missing. The text names what to install.

    """
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=f"{home}/bin" if home else None)
    if javac is None:
        raise SystemExit(
            "building the jar: expected javac of JDK 17 or later in JAVA_HOME or on the PATH, got none; install a JDK"
        )
    sources = sorted(str(each) for each in _SOURCES.rglob("*.java"))
    with tempfile.TemporaryDirectory() as classes:
        command = [javac, "--release", _BYTECODE, "-proc:none", "-nowarn", "-d", classes]
        command += ["-classpath", f"{_spark_jars()}/*", *sources]
        subprocess.run(command, check=True)
        _JAR.parent.mkdir(exist_ok=True)
        # The new jar replaces the old one in one step, because a running JVM reads on from the file that it
        # has opened.
        made = _JAR.with_suffix(".made")
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as jar:
            for each in sorted(Path(classes).rglob("*.class")):
                name = each.relative_to(classes).as_posix()
                jar.writestr(zipfile.ZipInfo(name, _MOMENT), each.read_bytes(), zipfile.ZIP_DEFLATED)
        made.replace(_JAR)
    return _JAR


def _spark_jars() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SystemExit(
            "building the jar: expected PySpark in the build environment, because the Java sources use its jars, got "
            "none; install pyspark"
        )
    return Path(found.origin).parent / "jars"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return maturin.get_requires_for_build_wheel(config_settings)


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    build_jar()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    build_jar()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    return maturin.build_sdist(sdist_directory, config_settings)


if __name__ == "__main__":
    sys.stdout.write(f"{build_jar()}\n")
