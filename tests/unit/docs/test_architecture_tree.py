"""The folder tree in ARCHITECTURE.md against the folders on disk."""

import re
from pathlib import Path

from fixtures.doc_pages import ROOT

_ENTRY = re.compile(r"^(?P<indent>(?:  )*)(?P<name>[\w.][\w./-]*)(?:  +(?P<what>\S.*))?$")
_SOURCES = (".py", ".rs", ".java", ".pyi")


def _tree() -> dict[str, str]:
    """Path to description, folders with a slash at the end."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    block = text.split("<!-- tree -->\n```\n", 1)[1].split("```", 1)[0]
    entries: dict[str, str] = {}
    above: list[str] = []
    for line in block.splitlines():
        entry = _ENTRY.match(line)
        assert entry, f"expected 'name  description', got {line!r}"
        depth = len(entry["indent"]) // 2
        path = "".join(above[:depth]) + entry["name"]
        entries[path] = entry["what"] or ""
        above[depth:] = [entry["name"]]
    return entries


def _folders(top: str) -> set[str]:
    """Folders below `top` that hold sources."""
    found = {path.parent for path in (ROOT / top).rglob("*") if path.suffix in _SOURCES}
    skipped = {"target", "__pycache__"}
    return {_text(folder) for folder in found if not skipped & set(folder.relative_to(ROOT).parts)}


def _text(folder: Path) -> str:
    return f"{folder.relative_to(ROOT).as_posix()}/"


def test_everything_in_the_tree_exists_and_is_described() -> None:
    for path, what in _tree().items():
        found = ROOT / path
        assert found.is_dir() if path.endswith("/") else found.is_file(), path
        assert what, f"{path} has no description"


def test_every_folder_of_the_product_is_in_the_tree() -> None:
    product = _folders("src/pyspark_pulsar") | _folders("kernel/src")
    assert not product - _tree().keys()


def test_every_module_at_the_top_of_the_package_is_in_the_tree() -> None:
    package = ROOT / "src" / "pyspark_pulsar"
    modules = {
        path.relative_to(ROOT).as_posix() for path in package.iterdir() if path.suffix in {".py", ".pyi"}
    }
    assert not modules - _tree().keys()


def test_every_kind_of_test_is_in_the_tree() -> None:
    kinds = {_text(folder) for folder in (ROOT / "tests").iterdir() if any(folder.glob("**/*.py"))}
    assert not kinds - _tree().keys()
