"""The image of deploy/Dockerfile runs the pods that Spark makes of the recipe for Kubernetes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from fixtures.cluster.server import Server
from fixtures.doc_pages import ROOT
from fixtures.kubernetes import check_pod
from integration.official import await_true
from integration.package.image import Image
from integration.package.machine import SPARK, TASKS, Machine

from pyspark_pulsar.tools.standalone.settings import choose_port

PODS = ROOT / "tests" / "java" / "kubernetes" / "SparkPods.java"
TEMPLATE = ROOT / "deploy" / "kubernetes" / "pod-template.yaml"
LOOPBACK = "127.0.0.1"


def test_a_driver_and_an_executor(machine: Machine, wheel: Path, tmp_path: Path) -> None:
    """A master of Spark's standalone cluster without workers replaces Kubernetes' API.

    It assigns no executor to the driver. The executor that the pod describes connects by itself.
    """
    image = Image(tmp_path / "image", wheel)
    machine.note(Path(image.inside("/opt/pyspark-pulsar/bin/python")))
    shutil.copy(machine.home / "program.py", image.inside("/opt/programs/"))
    master_port, driver_port = choose_port(None, None), choose_port(None, None)
    made = kubernetes_requests(machine, driver_port)
    for role in ("driver", "executor"):
        check_pod(made[role])
        assert made[role]["spec"]["securityContext"]["runAsUser"] == int(image.user)
    Path(image.inside("/opt/spark/conf/spark.properties")).write_text(
        image.inside(made["spark.properties"]) + f"\nspark.master=spark://{LOOPBACK}:{master_port}\n"
        f"spark.driver.host={LOOPBACK}\nspark.driver.blockManager.port=0\nspark.ui.enabled=false\n"
    )
    master = Server(
        "the master", master_port,
        image.command(["spark-class", "org.apache.spark.deploy.master.Master", "--host", LOOPBACK, "--port",
                       str(master_port), "--webui-port", "0"]),
        machine.variables() | image.variables, tmp_path / "master.log",
    )  # fmt: skip
    driver = container(image, made["driver"], machine, driver_port, tmp_path / "driver.log")
    executor = container(image, made["executor"], machine, 0, tmp_path / "executor.log")
    try:
        master.start()
        driver.start()

        def ended() -> bool:
            if driver.running and not executor.running:
                executor.kill()
                executor.launch()
            return not driver.running

        await_true("the program", ended, seconds=300)
    finally:
        for server in (executor, driver, master):
            server.kill()
    answer = machine.home / "answer.json"
    assert answer.exists(), driver.log.read_text()[-10_000:] + executor.log.read_text()[-3000:]
    machine.check()
    assert {run.python for run in machine.runs() if TASKS in run.arguments} == {
        image.inside("/opt/pyspark-pulsar/bin/python")
    }


def kubernetes_requests(machine: Machine, driver_port: int) -> dict[str, Any]:
    """Return Spark's requests to Kubernetes for the page's call of spark-submit."""
    shutil.copy(TEMPLATE, machine.home)
    settings = {
        "spark.driver.port": str(driver_port),
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
    }
    machine.run(
        "kubernetes", "recipe-kubernetes", machine.home, "> pods.json",
        settings=settings, submit=f"exec java -cp '{SPARK}/jars/*' {PODS}",
    )  # fmt: skip
    return json.loads((machine.home / "pods.json").read_text())


def container(image: Image, pod: dict[str, Any], machine: Machine, port: int, log: Path) -> Server:
    """The one of a pod, as a process of this machine, in which `python3` lacks the package."""
    (described,) = pod["spec"]["containers"]
    secrets = {volume["name"] for volume in pod["spec"]["volumes"] if "secret" in volume}
    for mount in described["volumeMounts"]:
        folder = Path(image.inside(f"{mount['mountPath']}/"))
        folder.mkdir(parents=True, exist_ok=True)
        if mount["name"] in secrets:
            (folder / "token").write_text("any")
    fields = {"status.podIP": LOOPBACK, "metadata.name": pod["metadata"]["name"]}
    variables = {
        variable["name"]: fields[variable["valueFrom"]["fieldRef"]["fieldPath"]]
        if "valueFrom" in variable
        else image.inside(variable["value"])
        for variable in described["env"]
    }
    if "SPARK_DRIVER_URL" in variables:
        variables["SPARK_DRIVER_URL"] = re.sub("@[^:]+", f"@{LOOPBACK}", variables["SPARK_DRIVER_URL"])
    environment = machine.variables() | {"SPARK_HOME": image.variables["SPARK_HOME"]} | variables
    return Server(pod["metadata"]["name"], port, image.command(described["args"]), environment, log)
