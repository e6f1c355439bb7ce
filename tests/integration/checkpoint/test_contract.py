"""Hadoop's own contract tests of a file system, as Hadoop publishes them, over checkpoints in Pulsar."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pyspark
from fixtures.maven_libraries import maven_libraries
from integration.checkpoint.checkpoints import location, new_name

from pyspark_pulsar import catalog_jar
from pyspark_pulsar.tools.standalone import LocalPulsar

_SOURCES = Path(__file__).parents[2] / "java" / "contract"
_SUBJECTS = ("Create", "Open", "Seek", "Delete", "Mkdir", "Status")
UNSUPPORTED = {
    "testCreatedFileIsImmediatelyVisible": "a file is there when it is closed, and not before",
    "testCreatedFileIsVisibleOnFlush": "a file is there when it is closed, and not before",
}
"""Tests of features that the file system declares as absent. docs/checkpoints.md lists these features."""


def test_hadoops_contract_holds(pulsar: LocalPulsar, tmp_path: Path) -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    libraries = maven_libraries(_SOURCES / "pom.xml")
    # The libraries with which the tests were compiled are first.
    classpath = f"{tmp_path}:{catalog_jar()}:{libraries}/*:{jars}/*"
    source = str(_SOURCES / "CheckpointContract.java")
    compiled = ["javac", "-nowarn", "-proc:none", "-d", str(tmp_path), "-cp", classpath, source]
    done = subprocess.run(compiled, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath]
    command += [f"-Dservice.url={pulsar.service_url}", f"-Dpython={sys.executable}"]
    command += [
        f"-Dcheckpoint={location(new_name())}",
        "org.junit.platform.console.ConsoleLauncher",
        "execute",
    ]
    command += ["--details=none", "--disable-banner", f"--reports-dir={tmp_path}/reports"]
    command += [f"--select-class=CheckpointContract${subject}" for subject in _SUBJECTS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    cases = ET.parse(tmp_path / "reports" / "TEST-junit-jupiter.xml").getroot().findall("testcase")
    assert len(cases) == 97, done.stdout + done.stderr[-3000:]
    failed = {
        f"{case.get('classname')}.{case.get('name')}": (found.get("message") or found.text or "")[:500]
        for case in cases
        if (found := next((each for each in case if each.tag in ("failure", "error")), None)) is not None
    }
    assert failed == {}
    skipped = {str(case.get("name")).removesuffix("()") for case in cases if case.find("skipped") is not None}
    assert skipped == UNSUPPORTED.keys()
