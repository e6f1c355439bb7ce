"""The recipes for YARN, on Hadoop's own servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.yarn_cluster import yarn_cluster
from integration.package.machine import LOCAL, SPARK, TASKS, Machine

# The container of the application master, which is the driver in cluster deploy mode.
FIRST_CONTAINER = "_000001"


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with yarn_cluster(tmp_path_factory.mktemp("yarn")) as conf:
        yield conf


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_yarn(deploy_mode: str, machine: Machine, yarn: Path, tmp_path: Path) -> None:
    told = json.loads((machine.home / "options.json").read_text())
    token = {"pulsar.client.authPluginClassName": "token", "pulsar.client.authParams": "file:token"}
    (machine.home / "options.json").write_text(json.dumps(told | token))
    # The server requires no certificate, but a missing file is an error in every process that connects.
    (machine.home / "token").write_text("any")
    settings = {
        **LOCAL,
        "spark.files": "token",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.instances": "1",
        # Spark's jars are on this machine already.
        "spark.yarn.jars": f"local:{SPARK}/jars/*",
        "spark.yarn.stagingDir": f"file:{tmp_path}/staging",
    }
    # Containers do not have what the environment of the servers holds.
    for name in ("SPARK_LOCAL_IP", "JDK_JAVA_OPTIONS"):
        value = machine.variables().get(name, "")
        settings |= {f"spark.yarn.appMasterEnv.{name}": value, f"spark.executorEnv.{name}": value}
    recipe, variables = f"yarn-{deploy_mode}", {"YARN_CONF_DIR": str(yarn)}
    machine.run(recipe, recipe, machine.home, settings=settings, variables=variables)
    machine.check()
    tasks = [run for run in machine.runs() if TASKS in run.arguments]
    others = [
        run for run in machine.runs() if TASKS not in run.arguments and "catalog conf" not in run.arguments
    ]
    for run in tasks:
        assert run.container, run
        assert not run.container.endswith(FIRST_CONTAINER), run
    for run in others:
        in_first = run.container.endswith(FIRST_CONTAINER)
        assert in_first if deploy_mode == "cluster" else not run.container, run
