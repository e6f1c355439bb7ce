"""The command in docs/sizing.md is the one whose figures the page shows."""

from __future__ import annotations

import json
import re
import shlex

from click.testing import CliRunner
from fixtures.doc_pages import ROOT
from fixtures.scripts import script

from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.cli.commands.size import size
from pyspark_pulsar.tools.sizing.costs import DEFAULTS, default_costs

_PAGE = (ROOT / "docs" / "sizing.md").read_text()


def test_the_command_of_the_page_gives_the_figures_of_the_page() -> None:
    (block,) = re.findall(r"```bash\npyspark-pulsar (size .*?)```", _PAGE, re.DOTALL)
    result = CliRunner().invoke(cli, [*shlex.split(block.replace("\\\n", " ")), "--json"])
    assert result.exit_code == 0, result.output
    told = {
        name: figure["value"]
        for section in json.loads(result.stdout)["figures"].values()
        for name, figure in section.items()
    }
    made = script("generate_docs")._sized()
    assert told == {name: figure.value for name, figure in made.figures().items()}


def test_flags_that_the_page_names_exist() -> None:
    flags = {flag for parameter in size.params for flag in parameter.opts}
    assert set(re.findall(r"`(--[a-z-]+)`", _PAGE)) <= flags | {"--help"}


def test_the_committed_costs_agree_with_the_results() -> None:
    report = json.loads((ROOT / "bench" / "results" / "sizing.json").read_text())
    assert report["costs"] == dict(default_costs().values)
    folder = ROOT / "src" / "pyspark_pulsar" / "tools" / "sizing"
    assert json.loads((folder / DEFAULTS).read_text())["when"] == report["when"]
