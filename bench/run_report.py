"""Arguments and result files of the larger benchmarks."""

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernel_build import kernel_build
from process_use import load_average

_RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("pyarrow", "pyspark", "pulsar-client")


def arguments(document: str | None, sections: str, result: str) -> argparse.ArgumentParser:
    """Return a parser with `--only`, `--repeat` and `--result`; the caller adds its own options."""
    parser = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=sections)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--result", type=Path, default=_RESULTS / result)
    return parser


def new_report(program: str) -> dict[str, Any]:
    """Return a report with the command and the machine.

    Call this function before the first measure. `program` is the caller's own path.
    """
    return {
        "command": " ".join([f"python bench/{_name(Path(program).resolve())}", *sys.argv[1:]]),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, all servers on the same cores",
        "load_before": round(load_average(), 2),
        "kernel": kernel_build(),
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def _name(program: Path) -> Path:
    """Return the program's path below bench; for a folder's `__main__.py`, the folder's path."""
    named = program.parent if program.name == "__main__.py" else program
    return named.relative_to(Path(__file__).resolve().parent)


def write_report(report: dict[str, Any], result: Path) -> None:
    """Write the report, and replace an earlier file."""
    report["load_after"] = round(load_average(), 2)
    result.parent.mkdir(exist_ok=True)
    result.write_text(json.dumps(report, indent=2) + "\n")
