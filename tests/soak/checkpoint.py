"""A view of the checkpoint of the query under test, which is in a folder or in Pulsar."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.clients import ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.store import Store
from pyspark_pulsar.errors import CheckpointPathNotFound, PulsarError

_LOOK_SECONDS = 5.0


class Checkpoint(Protocol):
    @property
    def location(self) -> str:
        """Return the location, which is the value of the query's option `checkpointLocation`."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder. The list is empty if the folder does not exist."""

    def text(self, file: str) -> str: ...


class InFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.location = str(folder)

    def names(self, folder: str) -> list[str]:
        return [each.name for each in (self._folder / folder).glob("*")]

    def text(self, file: str) -> str:
        return (self._folder / file).read_text(encoding="utf-8")


class InPulsar:
    """A view of a checkpoint in Pulsar that fences no owner. If Pulsar is down, `names` returns its last result."""

    def __init__(self, service_url: str, location: str) -> None:
        self.location = location
        self._store = Store(ClusterSettings.parse({"service.url": service_url}))
        self._seen: dict[str, list[str]] = {}

    def names(self, folder: str) -> list[str]:
        where = parse_path(f"{self.location}/{folder}")
        checkpoint = self._store.checkpoint(where.checkpoint)
        try:
            listed = checkpoint.list(where.parts, Deadline.after(_LOOK_SECONDS))
            self._seen[folder] = [status.name for status in listed]
        except CheckpointPathNotFound:
            return []
        except PulsarError:
            pass
        return self._seen.get(folder, [])

    def text(self, file: str) -> str:
        where = parse_path(f"{self.location}/{file}")
        checkpoint, deadline = self._store.checkpoint(where.checkpoint), Deadline.after(10 * _LOOK_SECONDS)
        opened, body = checkpoint.open(where.parts, deadline)
        if body is None:
            body = checkpoint.read(opened.id, where.parts, 0, opened.length, deadline)
        return body.decode()

    def close(self) -> None:
        self._store.close()
