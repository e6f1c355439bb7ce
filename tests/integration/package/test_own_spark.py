"""A platform whose Spark pip does not know: docs/deployment.md describes how to install the package there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from fixtures.doc_pages import ROOT
from integration.package.environment import OF_SPARK, link_requirements, make_environment
from integration.package.machine import SPARK, Machine
from packaging.requirements import Requirement

PAGE = ROOT / "docs" / "deployment.md"
BLOCK = re.compile(r"^<!-- own Spark -->\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_names_all_but_spark() -> None:
    _, second = page_commands()
    named = {Requirement(text) for text in re.findall(r'"([^"]+)"', second)}
    asked = [Requirement(text) for text in distribution("pyspark-pulsar").requires or ()]
    assert named == {each for each in asked if each.marker is None and each.name not in OF_SPARK}


def test_rows_are_read(machine: Machine, wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    site = make_environment(environment)
    # Pip would list the packages to fetch, or fail.
    link_requirements(site, distribution("pyspark-pulsar"), without=OF_SPARK)
    pip = f"{sys.executable} -m pip --python {environment}/bin/python install --no-index"
    for command in page_commands():
        text = command.replace("WHEEL", str(wheel)).replace("pip install", pip)
        done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert not [path.name for path in site.iterdir() if path.name.startswith(("pyspark-", "pyspark", "py4j"))
                and not path.name.startswith("pyspark_pulsar")]  # fmt: skip

    script = machine.home / "run.sh"
    script.write_text(
        f"{environment}/bin/pyspark-pulsar catalog conf --service-url {machine.service_url} "
        f"--admin-url {machine.admin_url} > pulsar.conf\n"
        f"{SPARK}/bin/spark-submit --properties-file pulsar.conf --conf spark.ui.enabled=false "
        f"program.py own-spark {machine.home}\n"
    )
    done = subprocess.run(
        ["bash", "-e", script], cwd=machine.home, env=machine.variables(),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-10_000:]
    assert json.loads((machine.home / "answer.json").read_text()) == [45, 10, 90]


def page_commands() -> list[str]:
    (block,) = BLOCK.findall(PAGE.read_text())
    return list(block.splitlines())
