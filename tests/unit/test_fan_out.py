"""No module of the package knows too many others: one that does is several modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pyspark_pulsar

MOST = 18
# It passes modules of Python on, whose imports do not count either.
NOT_COUNTED = {"pyspark_pulsar.runtime"}
ROOT = Path(pyspark_pulsar.__file__).parent
PACKAGE = pyspark_pulsar.__name__
MODULES = {
    ".".join([PACKAGE, *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
    if not path.stem.endswith("_pb2")
}


def imported(module: str) -> set[str]:
    """The modules of the package that a module imports: at its top, inside functions and for types."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name.split(".")[0] == PACKAGE}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            names = [f"{node.module}.{name.name}" for name in node.names]
            found |= {name if name in MODULES else str(node.module) for name in names}
    return found


def test_statements_that_count_as_imports() -> None:
    assert imported("pyspark_pulsar.read.split") == {
        "pyspark_pulsar.model.position",
        "pyspark_pulsar.read.location",
        "pyspark_pulsar.model.time_window",
        "pyspark_pulsar.model.topic",
    }
    assert "pyspark_pulsar.read.batch.batch_reader" in imported("pyspark_pulsar.datasource"), (
        "inside a function"
    )
    assert "pyspark_pulsar.history.columnar.delta.partitions" in imported(
        "pyspark_pulsar.history.columnar.delta.table"
    )


def test_a_module_imports_few_others() -> None:
    counts = {module: len(imported(module) - NOT_COUNTED) for module in MODULES}
    assert {module: count for module, count in counts.items() if count > MOST} == {}
