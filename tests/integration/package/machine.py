"""A user's machine, on which the recipes of docs/deployment.md and docs/kubernetes.md run unchanged."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pyspark
from fixtures.doc_pages import ROOT
from integration.package.environment import OF_SPARK, link_requirements, make_environment

import pyspark_pulsar
from pyspark_pulsar.tools.standalone import LocalPulsar

PROGRAM = ROOT / "tests" / "programs" / "recipe.py"
SPARK = Path(pyspark.__file__).parent

TASKS = "pyspark.daemon pyspark.worker"
"""The modules that the interpreters of executors run."""

_PAGES = (ROOT / "docs" / "deployment.md", ROOT / "docs" / "kubernetes.md")
_BLOCK = re.compile(
    r"^<!-- run: (?P<recipe>[a-z-]+) -->\n```bash\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_DEADLINE_SECONDS = 500
_END_SECONDS = 60
LOCAL = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@dataclass(frozen=True)
class Run:
    """A run of an interpreter, and its path. `container` is YARN's id of the container, otherwise empty."""

    container: str
    python: str
    arguments: str


class Machine:
    """A machine with Spark, Java, and a `python3` without packages.

    Its home has a program and an environment, also packed. The environment has this package and its
    requirements besides Spark. Its interpreter records its runs.
    """

    def __init__(self, folder: Path, pulsar: LocalPulsar) -> None:
        """`pulsar` is what the pages call `broker`."""
        self.home = folder / "home"
        self.log = folder / "log"
        self._noted = folder / "noted"
        self._bare = folder / "bare"
        self._commands = folder / "bin"
        self.service_url, self.admin_url = pulsar.service_url, pulsar.admin_url
        self._words = {"pulsar://broker:6650": pulsar.service_url, "http://broker:8080": pulsar.admin_url}
        for path in (self.home, self._commands):
            path.mkdir()
        told = {"service.url": pulsar.service_url, "admin.url": pulsar.admin_url}
        (self.home / "options.json").write_text(json.dumps(told))
        shutil.copy(PROGRAM, self.home / "program.py")
        base = Path(sys.base_prefix) / "bin" / "python3"
        script(self._commands / "python3", f'echo "$@" >> {self._bare}\nexec {base} -S "$@"')
        self._make_environment()

    def _make_environment(self) -> None:
        environment = self.home / "environment"
        site = make_environment(environment)
        link_requirements(site, distribution("pyspark-pulsar"), without=OF_SPARK)
        (site / "pyspark_pulsar").symlink_to(Path(pyspark_pulsar.__path__[0]))
        self.note(environment / "bin" / "python")
        command = environment / "bin" / "pyspark-pulsar"
        script(command, f'exec {environment}/bin/python -m pyspark_pulsar.tools.cli "$@"')
        (self._commands / "pyspark-pulsar").symlink_to(command)
        with tarfile.open(self.home / "environment.tar.gz", "w:gz", compresslevel=0) as packed:
            packed.add(environment, ".")

    def note(self, python: Path) -> None:
        """Let an environment's interpreter note what it is run for."""
        target = python.resolve()
        python.unlink()
        script(python, f'echo "$CONTAINER_ID|$0|$@" >> {self._noted}\nexec -a "$0" {target} "$@"')

    def start(
        self,
        recipe: str,
        *arguments: object,
        words: Mapping[str, str] | None = None,
        settings: Mapping[str, str] = LOCAL,
        variables: Mapping[str, str] | None = None,
        submit: str = f"exec {SPARK}/bin/spark-submit",
    ) -> subprocess.Popen[bytes]:
        """Start the commands that pages mark with `recipe`, in a process group of their own; their output is
        in `log`.

        `words` of the pages are replaced. `submit` replaces spark-submit; it gets `settings` first and
        `arguments` last.
        """
        blocks = [block for page in _PAGES for block in _BLOCK.finditer(page.read_text())]
        text = "".join(block["text"] for block in blocks if block["recipe"] == recipe)
        assert text, f"no commands for {recipe} in the pages"
        for word, meaning in {**self._words, **(words or {})}.items():
            text = text.replace(word, meaning)
        conf = " ".join(f"--conf '{key}={value}'" for key, value in settings.items())
        script(
            self._commands / "spark-submit",
            " ".join([submit, conf, '"$@"', *(str(argument) for argument in arguments)]),
        )
        with self.log.open("ab") as output:
            return subprocess.Popen(
                ["bash", "-e", "-c", text], cwd=self.home, env={**self.variables(), **(variables or {})},
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def run(self, recipe: str, *arguments: object, **given: Any) -> None:
        """The same, to the end, which must be a good one."""
        self.finish(self.start(recipe, *arguments, **given))

    def finish(self, commands: subprocess.Popen[bytes]) -> None:
        try:
            assert commands.wait(_DEADLINE_SECONDS) == 0, self.log.read_text(errors="replace")[-20_000:]
        finally:
            self.end(commands)

    def end(self, commands: subprocess.Popen[bytes]) -> None:
        """End what `start` has started, if it runs."""
        if commands.poll() is None:
            os.killpg(commands.pid, signal.SIGTERM)
            commands.wait(_END_SECONDS)

    def runs(self) -> list[Run]:
        return [
            Run(*line.split("|", 2)) for line in self._noted.read_text().splitlines() if line.count("|") > 1
        ]

    def check(self) -> None:
        """Check that the program has read the right rows, and that the recording interpreters did all of it."""
        assert json.loads((self.home / "answer.json").read_text()) == [45, 10, 90]
        noted = "\n".join(run.arguments for run in self.runs())
        for purpose in (
            "pyspark_pulsar.catalog",
            "pyspark_pulsar.spark.driver_process",
            TASKS,
        ):
            assert purpose in noted, noted
        assert not self._bare.exists(), self._bare.read_text()

    def variables(self) -> dict[str, str]:
        """Return the environment variables of a shell on this machine."""
        kept = {
            key: os.environ[key] for key in ("JDK_JAVA_OPTIONS", "JAVA_HOME", "LANG") if key in os.environ
        }
        java = Path(shutil.which("java") or "java").parent
        search = os.pathsep.join(map(str, (self._commands, java, "/usr/bin", "/bin")))
        own = {"HOME": str(self.home), "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
        return {**kept, **own, "PATH": search}


def script(path: Path, text: str) -> None:
    """An executable file of commands for bash."""
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
