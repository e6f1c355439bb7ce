"""The image of deploy/Dockerfile without a container: a folder that holds what the image holds below `/opt`."""

from __future__ import annotations

import json
import os
import re
import shutil
import string
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution
from pathlib import Path

from fixtures.doc_pages import ROOT
from fixtures.dockerfile import instructions
from integration.package.environment import link_requirements

_DOCKERFILE = ROOT / "deploy" / "Dockerfile"
_OF_SYSTEM = "apt-get "
_OF_IMAGE = re.compile(r"(/opt/|/etc/pulsar/|/var/data/)")
# `python3` is the one that runs the tests, since what is linked was compiled for it.
_SEARCH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


class Image:
    """An image: the Dockerfile's steps, run unchanged except for the folder before paths.

    This machine replaces the base image and what is installed there. Links replace the packages that pip
    would fetch: exactly the wheel's requirements.
    """

    def __init__(self, root: Path, wheel: Path) -> None:
        self.root = root
        self.variables: dict[str, str] = {}
        self.user = self.folder = ""
        self.entrypoint: list[str] = []
        self._arguments: dict[str, str] = {}
        for instruction in instructions(_DOCKERFILE):
            self._follow(instruction.name, instruction.value, wheel)

    def inside(self, text: str) -> str:
        """`text` with the image's own paths, and those at which pods mount something, as they are on this machine."""
        return _OF_IMAGE.sub(rf"{self.root}\1", text)

    def command(self, arguments: Iterable[str]) -> list[str]:
        """Return the command that a container runs for these arguments."""
        return [
            "bash",
            "-c",
            'cd "$0" && exec "$@"',
            self.folder,
            *self.entrypoint,
            *map(self.inside, arguments),
        ]

    def _follow(self, name: str, value: str, wheel: Path) -> None:
        if name == "ARG":
            key, _, default = value.partition("=")
            self._arguments[key] = default
        elif name == "ENV":
            key, _, text = value.partition("=")
            self.variables[key] = self.inside(string.Template(text).substitute(PATH=os.environ["PATH"]))
        elif name == "COPY":
            source, target = value.split()
            self._copy(source, target, wheel)
        elif name == "RUN" and not value.startswith(_OF_SYSTEM):
            self._run(value)
        elif name == "WORKDIR":
            self.folder = self.inside(f"{value}/")
        elif name == "USER":
            self.user = value
        elif name == "ENTRYPOINT":
            # tini is one of Debian's packages.
            self.entrypoint = [self.inside(word) for word in json.loads(value)[3:]]
        else:
            assert name == "FROM" or value.startswith(_OF_SYSTEM), (name, value)

    def _copy(self, source: str, target: str, wheel: Path) -> None:
        copied = wheel if source == "dist/*.whl" else ROOT / source
        place = Path(self.inside(target))
        (place if target.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(copied, place)

    def _run(self, command: str) -> None:
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        done = subprocess.run(
            ["/bin/sh", "-c", self.inside(command)], env={**os.environ, **self._arguments, **offline, "PATH": _SEARCH},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        if "pip install" in command:
            (site,) = self.root.glob("opt/pyspark-pulsar/lib/python*/site-packages")
            (installed,) = site.glob("pyspark_pulsar-*.dist-info")
            extras = frozenset(self._arguments["EXTRAS"].split(","))
            link_requirements(site, Distribution.at(installed), extras=extras)
