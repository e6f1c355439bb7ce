"""The files and folders that CONTRIBUTING.md and docs/where-to-change.md name exist."""

import re
from pathlib import Path

import pytest
from fixtures.doc_pages import ROOT

_PAGES = (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "where-to-change.md")
_QUOTED = re.compile(r"`([A-Za-z_.-]+(?:/[A-Za-z_.-]*)*)`")
# Below these a page may leave the beginning of a path out.
_ROOTS = (ROOT, ROOT / "src" / "pyspark_pulsar", ROOT / "jvm")
_SUFFIXES = (".py", ".rs", ".java", ".proto", ".md", ".json")


def _named(text: str) -> list[str]:
    quoted = [name.rstrip("/") for name in _QUOTED.findall(text)]
    return sorted({name for name in quoted if "/" in name or name.endswith(_SUFFIXES)})


def _exists(name: str) -> bool:
    """A name alone, and one with dots in its middle, is a file somewhere below the package or the jar."""
    if "/" not in name or ".../" in name:
        last = name.rpartition("/")[2]
        return any(next(root.rglob(last), None) for root in (*_ROOTS[1:], ROOT / "docs", ROOT / "kernel"))
    return any((root / name).exists() for root in _ROOTS)


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_a_named_path_exists(page: Path) -> None:
    named = _named(page.read_text())
    assert len(named) > 10
    assert not [name for name in named if not _exists(name) and not name.startswith("~")]


def test_the_check_sees_paths_that_are_gone() -> None:
    assert _named("see `options.py`, `schema/avro.py` and `make`") == ["options.py", "schema/avro.py"]
    assert not _exists("options.py")
    assert not _exists("schema/avro.py")
    assert _exists("options/read.py")
