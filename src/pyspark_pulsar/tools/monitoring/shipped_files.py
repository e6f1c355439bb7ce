"""The alert rules for Prometheus and the dashboard for Grafana that this package contains."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from pyspark_pulsar.errors import OptionError

ALERTS: Final = "pulsar-spark-alerts.yaml"
DASHBOARD: Final = "pulsar-spark-dashboard.json"


def write(folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the alert rules and the dashboard into a folder, and return the paths of the two files.

    The folder is created if necessary.

    Raises:
        OptionError: The folder cannot be written. Or `overwrite` is false, and one of the files exists with other
            content. In the second case, no file was changed.

    """
    shipped = files("pyspark_pulsar.tools.monitoring") / "shipped"
    texts = {folder / name: (shipped / name).read_text(encoding="utf-8") for name in (ALERTS, DASHBOARD)}
    try:
        for path, text in texts.items():
            if not overwrite and path.exists() and path.read_text(encoding="utf-8") != text:
                raise OptionError(
                    f"{path}: expected no file or an unchanged file, got a file with other content; replace the file "
                    f"with --overwrite, or choose another folder"
                )
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as fault:
        raise OptionError(
            f"{folder}: expected a writable folder, got an error: {fault.strerror}; choose another folder"
        ) from None
    return list(texts)
