"""Checks of this machine's installation: Python, this package, PySpark, Java, and the Python of workers.

No check connects to a cluster.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Final

from pyspark_pulsar.errors import PrerequisiteMissing
from pyspark_pulsar.session.configure import catalog_jar
from pyspark_pulsar.tools.doctor.finding import FAULT, OK, WARNING, Finding, State, check

_EXTRAS: Final = {
    "encryption": "cryptography",
    "tiered": "obstore",
    "iceberg": "pyiceberg",
    "delta": "deltalake",
    "metrics": "prometheus_client",
}
_SECONDS: Final = 30
_LEAST_JAVA: Final = 17
_JAVA: Final = re.compile(r'version "(?:1\.)?(\d+)')
_BOUNDS: Final = re.compile(r"(>=|<)\s*(\d+(?:\.\d+)*)")
_PROBE: Final = (
    "import json, platform\n"
    "from importlib.metadata import PackageNotFoundError, version\n"
    "try:\n    own = version('pyspark-pulsar')\n"
    "except PackageNotFoundError:\n    own = ''\n"
    "print(json.dumps([platform.python_version(), own]))"
)


def findings() -> Iterator[Finding]:
    """Yield the findings, in the order of the rows in the doctor's table."""
    own = version("pyspark-pulsar")
    yield Finding("Python", OK, f"{platform.python_version()} at {sys.executable}")
    yield Finding("pyspark-pulsar", OK, f"{own}; extras: {_extras()}")
    yield check("kernel", _kernel)
    for package in ("pyspark", "pyarrow"):
        yield _package(package)
    yield check("jar", lambda: str(catalog_jar()))
    yield _java()
    yield _workers_interpreter(own)


def _extras() -> str:
    installed = [extra for extra, module in _EXTRAS.items() if find_spec(module) is not None]
    missing = [extra for extra in _EXTRAS if extra not in installed]
    return f"{', '.join(installed) or 'none'}" + (f" (not {', '.join(missing)})" if missing else "")


def _kernel() -> str:
    try:
        import_module("pyspark_pulsar.codec.digests")
    except ImportError as fault:
        raise PrerequisiteMissing(
            f"the Rust kernel cannot be loaded: {fault}; reinstall the wheel for this kind of machine, or build the "
            f"kernel (in a clone: make build)"
        ) from None
    return "loads"


def _package(name: str) -> Finding:
    """Check an installed distribution against the versions that this package requires."""
    bounds = next(
        (text for text in requires("pyspark-pulsar") or () if re.match(rf"{name}\s*[<>=!]", text)), ""
    )
    wanted = bounds.removeprefix(name).partition(";")[0].strip()
    try:
        installed = version(name)
    except PackageNotFoundError:
        return Finding(name, FAULT, "not installed", f"pip install '{name}{wanted}'")
    if not within(installed, wanted):
        return Finding(
            name,
            FAULT,
            f"{installed}; expected {wanted}",
            f"pip install '{name}{wanted}', or another pyspark-pulsar",
        )
    return Finding(name, OK, installed)


def within(installed: str, wanted: str) -> bool:
    """Return whether a version such as `4.3.0` is within bounds such as `<4.4,>=4.2`. Other operators are ignored."""
    own = _numbers(installed)
    for sign, bound in _BOUNDS.findall(wanted):
        edge = _numbers(bound)
        shown = own[: len(edge)]
        if (sign == ">=" and shown < edge) or (sign == "<" and shown >= edge):
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text.partition("+")[0]))


def _java() -> Finding:
    """Check the Java that Spark's scripts would run."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    advice = f"install a JDK {_LEAST_JAVA} or later, and set JAVA_HOME to it"
    if java is None:
        return Finding("Java", FAULT, "none on the PATH, and JAVA_HOME is not set", advice)
    try:
        done = subprocess.run(  # noqa: S603 -- what Spark would run
            [java, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        return Finding("Java", FAULT, f"{java} cannot be run: {fault}", advice)
    match = _JAVA.search(done.stderr + done.stdout)
    if match is None:
        return Finding("Java", FAULT, f"{java} prints no version", advice)
    number = int(match[1])
    if number < _LEAST_JAVA:
        return Finding("Java", FAULT, f"{number} at {java}; expected {_LEAST_JAVA} or later", advice)
    return Finding("Java", OK, f"{number} at {java}")


def _workers_interpreter(own: str) -> Finding:
    """Check the Python that Spark's workers would run on a machine like this one."""
    subject = "Python of workers"
    chosen = os.environ.get("PYSPARK_PYTHON")
    name = chosen or "python3"
    setting = f"PYSPARK_PYTHON={chosen}" if chosen else "PYSPARK_PYTHON is not set, so python3"
    advice = f"on every node, set PYSPARK_PYTHON to {sys.executable}, or install pyspark-pulsar {own} there"
    if not chosen:
        advice += "; sessions that configure creates need neither"
    path = shutil.which(name)
    if path is None:
        return Finding(subject, FAULT, f"{setting}: no such program", advice)
    try:
        done = subprocess.run(  # noqa: S603 -- what Spark would run
            [path, "-c", _PROBE], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
        python, installed = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as fault:
        return Finding(
            subject, FAULT, f"{setting}: the program cannot be run: {type(fault).__name__}", advice
        )
    # With the jar, a session uses the driver's Python. A session without the jar uses the Python that is checked here.
    state: State = FAULT if chosen else WARNING
    if installed != own:
        return Finding(
            subject, state, f"{setting}: Python {python} with {installed or 'no'} pyspark-pulsar", advice
        )
    if python.split(".")[:2] != platform.python_version().split(".")[:2]:
        return Finding(subject, state, f"{setting}: Python {python}, unlike the driver's", advice)
    return Finding(subject, OK, f"{setting}: Python {python} with pyspark-pulsar {installed}")
