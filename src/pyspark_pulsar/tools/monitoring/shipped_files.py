"""Files for Prometheus and Grafana that are part of the package: alert rules and a dashboard. Pure, but for `write`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from pyspark_pulsar.errors import OptionError

ALERTS: Final = "pulsar-spark-alerts.yaml"
DASHBOARD: Final = "pulsar-spark-dashboard.json"


def write(folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Both files into the folder, which is made if need be; where they are then. Raises `OptionError` for one that is
    there already with other content, unless `overwrite`, and for a folder that cannot be written; then nothing of the
    files that are there was changed."""
    shipped = files("pyspark_pulsar.tools.monitoring") / "shipped"
    texts = {folder / name: (shipped / name).read_text(encoding="utf-8") for name in (ALERTS, DASHBOARD)}
    try:
        for path, text in texts.items():
            if not overwrite and path.exists() and path.read_text(encoding="utf-8") != text:
                raise OptionError(
                    f"{path}: expected no such file, or an unchanged one, got one with other content; say --overwrite "
                    f"to replace it, or give another folder"
                )
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as fault:
        raise OptionError(f"{folder}: expected a folder that can be written, got: {fault.strerror}") from None
    return list(texts)
