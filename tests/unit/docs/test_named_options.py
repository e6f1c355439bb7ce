"""The options that docs/tuning.md and docs/coming-from-kafka.md name exist."""

import re

import pytest
from fixtures.doc_pages import ROOT

from pyspark_pulsar.options import ReadOptions, WriteOptions, option_fields

_CELLS = {"tuning.md": 0, "coming-from-kafka.md": 1}
"""The number of the cell with the options of a row."""
_QUOTED = re.compile(r"`([A-Za-z_.]+)(?:=[a-z-]+)?`")
# What is set elsewhere than in options, and columns and words that such a cell names.
_OTHERS = re.compile(
    r"spark\..*|trigger|configure|__\w+|value|topics?|JavaStringHash|PYTHON\w+|format|false|latest"
)
_KEYS = {
    key.lower()
    for scope in (ReadOptions, WriteOptions)
    for option in option_fields(scope).values()
    for key in (option.key, *option.aliases)
}


def _named(page: str) -> set[str]:
    lines = (ROOT / "docs" / page).read_text().partition("## Columns\n")[0].splitlines()
    rows = [line.strip("|").split(" | ") for line in lines if line.startswith("| ")]
    cells = [row[_CELLS[page]] for row in rows if len(row) > _CELLS[page]]
    return {name for cell in cells for name in _QUOTED.findall(cell) if not _OTHERS.fullmatch(name)}


def _exists(name: str) -> bool:
    """Return whether the option exists; a name that begins with a dot is the end of a name."""
    return any(key.endswith(name.lower()) for key in _KEYS) if name.startswith(".") else name.lower() in _KEYS


@pytest.mark.parametrize("page", _CELLS)
def test_named_options_exist(page: str) -> None:
    named = _named(page)
    assert len(named) > 12
    assert not [name for name in named if not _exists(name)]
