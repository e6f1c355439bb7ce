"""The manifests of deploy/kubernetes, compared with Kubernetes' schemas and with other files that repeat the
same values.
"""

import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from fixtures.doc_pages import ROOT
from fixtures.dockerfile import instructions
from fixtures.kubernetes import check_manifest, check_pod

from pyspark_pulsar.session.configure import session_conf

FOLDER = ROOT / "deploy" / "kubernetes"
OPERATORS_KIND = "SparkApplication"


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def one(name: str) -> dict[str, Any]:
    (document,) = documents(FOLDER / name)
    return document


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.name)
def test_a_manifest_is_valid_for_kubernetes(path: Path) -> None:
    for document in documents(path):
        if document["kind"] == OPERATORS_KIND:
            check_pod(document["spec"]["driver"]["template"])
            check_pod(document["spec"]["executor"]["template"])
        else:
            check_manifest(document)


def test_a_wrong_name_is_seen() -> None:
    job = one("job.yaml")
    job["spec"]["template"]["spec"]["volume"] = job["spec"]["template"]["spec"].pop("volumes")
    with pytest.raises(kubernetes_validate.ValidationError, match="volume"):
        check_manifest(job)


def test_all_pods_are_those_of_the_template() -> None:
    """The operator requires the names of Spark's own containers; a job has more of everything."""
    template = one("pod-template.yaml")["spec"]
    application = one("spark-application.yaml")["spec"]
    for role in ("driver", "executor"):
        template["containers"][0]["name"] = f"spark-kubernetes-{role}"
        assert application[role]["template"]["spec"] == template
    job = one("job.yaml")["spec"]["template"]["spec"]
    assert job["securityContext"] == template["securityContext"]
    (container,), (expected,) = job["containers"], template["containers"]
    assert container["securityContext"] == expected["securityContext"]
    assert expected["volumeMounts"][0] in container["volumeMounts"]
    assert template["volumes"][0] in job["volumes"]


def test_the_operators_settings_are_those_that_the_command_prints() -> None:
    settings = one("spark-application.yaml")["spec"]["sparkConf"]
    catalog = "spark.sql.catalog.pulsar"
    assert settings == session_conf(
        settings[f"{catalog}.service.url"],
        settings[f"{catalog}.admin.url"],
        python="/opt/pyspark-pulsar/bin/python",
        jar="local:///opt/pyspark-pulsar/pyspark-pulsar-catalog.jar",
        options={
            "pulsar.client.authPluginClassName": "token",
            "pulsar.client.authParams": "file:///etc/pulsar/token",
        },
    )


def test_the_image_runs_as_the_user_of_the_pods() -> None:
    steps = {step.name: step.value for step in instructions(ROOT / "deploy" / "Dockerfile")}
    assert int(steps["USER"]) == one("pod-template.yaml")["spec"]["securityContext"]["runAsUser"]


def test_the_image_has_the_programs_that_the_page_names() -> None:
    """Object stores, encrypted messages, and metrics for the Prometheus that scrapes the driver's pod."""
    arguments = dict(
        step.value.split("=", 1)
        for step in instructions(ROOT / "deploy" / "Dockerfile")
        if step.name == "ARG"
    )
    extras = arguments["EXTRAS"].split(",")
    assert {"encryption", "metrics", "tiered"} <= set(extras)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) <= set(known)
    first, *others, last = (f"`{extra}`" for extra in extras)
    page = " ".join((ROOT / "docs" / "kubernetes.md").read_text().split())
    assert f"with the extras {', '.join([first, *others])} and {last}." in page
    assert f"EXTRAS={arguments['EXTRAS']}," in page
