"""A dashboard that Grafana accepts, whose panels are side by side and query existing metrics."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from fixtures.doc_pages import ROOT
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.monitoring.query_metrics import PREFIX, QueryMetrics
from pyspark_pulsar.tools.monitoring.shipped_files import ALERTS, DASHBOARD

SHIPPED = files("pyspark_pulsar.tools.monitoring") / "shipped"
TEXTS = {name: (SHIPPED / name).read_text(encoding="utf-8") for name in (ALERTS, DASHBOARD)}
METRIC = re.compile(rf"{PREFIX}\w+")


def names() -> set[str]:
    return {
        f"{PREFIX}{metric.name}" + ("_total" if metric.kind == "counter" else "")
        for metric in QueryMetrics().metrics([])
    }


def lost(given: Any, kept: Any, where: str = "") -> list[str]:
    """Return the parts that Grafana's own classes do not know, or know differently; the classes add defaults."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [
            each
            for key, value in given.items()
            for each in (lost(value, kept[key], f"{where}.{key}") if key in kept else [f"{where}.{key}"])
        ]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [
            each
            for index, pair in enumerate(zip(given, kept, strict=True))
            for each in lost(*pair, f"{where}[{index}]")
        ]
    return [] if given == kept else [f"{where}: {given} is {kept}"]


def test_grafana_knows_all_of_the_dashboard() -> None:
    given = json.loads(TEXTS[DASHBOARD])
    kept = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(given)))
    assert lost(given, kept) == []


def test_panels_are_side_by_side_and_have_descriptions() -> None:
    taken: set[tuple[int, int]] = set()
    panels = json.loads(TEXTS[DASHBOARD])["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or panel["description"].endswith("."), panel["title"]


@pytest.mark.parametrize("name", [ALERTS, DASHBOARD])
def test_only_existing_metrics_are_queried(name: str) -> None:
    asked = set(METRIC.findall(TEXTS[name]))
    assert asked
    assert asked <= names()


def test_every_metric_is_shown_and_described() -> None:
    internal = {f"{PREFIX}batch_id", f"{PREFIX}last_failure_timestamp_seconds"}
    assert names() - internal <= set(METRIC.findall(TEXTS[DASHBOARD]))
    page = (ROOT / "docs" / "operations.md").read_text()
    assert names() <= set(METRIC.findall(page))
    for rule in yaml.safe_load(TEXTS[ALERTS])["groups"][0]["rules"]:
        assert f"`{rule['alert']}`" in page


def test_the_command_writes_the_files_and_keeps_changed_ones(tmp_path: Path) -> None:
    runner, folder = CliRunner(), tmp_path / "new"
    for _ in range(2):
        assert runner.invoke(cli, ["monitoring", str(folder)]).output.splitlines() == [
            str(folder / name) for name in TEXTS
        ]
    (folder / ALERTS).write_text("mine")
    answer = runner.invoke(cli, ["monitoring", str(folder)])
    assert isinstance(answer.exception, OptionError)
    assert (folder / ALERTS).read_text() == "mine"
    assert runner.invoke(cli, ["monitoring", str(folder), "--overwrite"]).exit_code == 0
    assert {each.name: each.read_text() for each in folder.iterdir()} == TEXTS
