"""README's first commands and programs, unchanged, in an empty environment in which nothing can be compiled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT, snippets
from integration.package.environment import link_requirements

from pyspark_pulsar.tools.standalone.cache import cache_root
from pyspark_pulsar.tools.standalone.settings import choose_port

README = ROOT / "README.md"
BLOCK = re.compile(r"^<!-- first minutes -->\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What Spark's and Pulsar's scripts call. Neither a compiler, nor a JDK's, nor Rust, nor Maven.
COMMANDS = (
    "awk basename bash cat chmod cp cut date dirname env expr getconf grep head hostname id java ln ls mkdir mktemp "
    "nice nohup ps readlink realpath rm sed sh sleep sort tail tee touch tr tty uname wc which xargs"
)
MAKES = ("cargo", "cc", "clang", "gcc", "javac", "mvn", "rustc", "zig")
FIVE_MINUTES = 300


class Beginner:
    """A user with an empty home, apart from the server that a first start would fetch."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self._commands = folder / "commands"
        cache = self.home / ".cache" / "pyspark-pulsar"
        for path in (cache, self._commands):
            path.mkdir(parents=True)
        (cache / "server").symlink_to(cache_root() / "server")
        for name in COMMANDS.split():
            found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin") or shutil.which(name)
            if found is not None:
                (self._commands / name).symlink_to(found)
        (self._commands / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
        assert not [name for name in MAKES if (self._commands / name).exists()]
        self.ports = {"6650": str(choose_port(None, None)), "8080": str(choose_port(None, None))}

    def run(self, text: str) -> str:
        """Return the output of commands, with other ports than on the page."""
        for port, other in self.ports.items():
            text = text.replace(port, other)
        done = subprocess.run(
            ["bash", "-e", "-c", text], cwd=self.home, env=self._variables(),
            capture_output=True, text=True, timeout=FIVE_MINUTES, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout[-5000:]}{done.stderr[-10_000:]}"
        return done.stdout

    def _variables(self) -> dict[str, str]:
        """No variable is for the package. Those for the JVM keep the tests fast, and off the network."""
        kept = {
            key: os.environ[key] for key in ("JDK_JAVA_OPTIONS", "JAVA_HOME", "LANG") if key in os.environ
        }
        return {**kept, "HOME": str(self.home), "PATH": str(self._commands), "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture
def beginner(tmp_path: Path) -> Beginner:
    return Beginner(tmp_path)


def test_from_an_empty_environment_to_rows(beginner: Beginner, wheel: Path) -> None:
    (block,) = BLOCK.findall(README.read_text())
    make, activate, install, start = block.splitlines()
    assert (make, install) == ("python3 -m venv trial", "pip install .")
    first, second, *_ = snippets(README)
    (beginner.home / "first.py").write_text(
        f"{first.code}{second.code}".replace("6650", beginner.ports["6650"]).replace(
            "8080", beginner.ports["8080"]
        )
    )

    began = time.monotonic()
    beginner.run(make)
    (site,) = beginner.home.glob("trial/lib/python*/site-packages")
    # What pip would fetch. It then finds that nothing is missing.
    link_requirements(site, distribution("pyspark-pulsar"))
    try:
        installed = beginner.run(
            f"{activate}\npip install --no-index --disable-pip-version-check {wheel}\n{start}\npyspark-pulsar --version"
        )
        rows = beginner.run(f"{activate}\npython first.py")
    finally:
        beginner.run(f"{activate}\npyspark-pulsar standalone stop || true")
    took = time.monotonic() - began

    assert "Pulsar is ready after" in installed
    # Two tasks wrote them, in any order.
    assert sorted(re.findall(r"^\|(hello|world) *\|", rows, re.MULTILINE)) == ["hello", "world"], rows
    assert len(re.findall(r"^\| *1\| *tea\|", rows, re.MULTILINE)) == 2, rows  # the query's and the stream's
    assert took < FIVE_MINUTES
