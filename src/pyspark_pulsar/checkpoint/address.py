"""Names of checkpoints in Pulsar, and paths inside: `pulsar+checkpoint://tenant/namespace/name[/path]`.

The topics of a checkpoint are `persistent://tenant/namespace/name-index` and `...-content`. A path inside a checkpoint
consists of parts between slashes. The empty path is the root folder of the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from pyspark_pulsar.errors import OptionError, TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName

SCHEME: Final = "pulsar+checkpoint"
_PREFIX: Final = f"{SCHEME}://"
_LEAST_PARTS: Final = 3


@dataclass(frozen=True, slots=True, order=True)
class CheckpointName:
    """The name of a checkpoint, unique in its cluster."""

    namespace: Namespace
    name: str

    def __str__(self) -> str:
        return f"{_PREFIX}{self.namespace}/{self.name}"

    @property
    def index(self) -> TopicName:
        """The topic of the index log."""
        return TopicName("persistent", self.namespace, f"{self.name}-index")

    @property
    def content(self) -> TopicName:
        """The topic of the content log."""
        return TopicName("persistent", self.namespace, f"{self.name}-content")


@dataclass(frozen=True, slots=True)
class CheckpointPath:
    """A file or folder in a checkpoint."""

    checkpoint: CheckpointName
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "/".join((str(self.checkpoint), *self.parts))


def parse_path(text: str) -> CheckpointPath:
    """Parse a path or URI from Hadoop's `Path.toString`, which does not escape any characters.

    Raises:
        OptionError: The text is not the path of a checkpoint, or a part of the path is `.` or `..`.

    """
    if not text.startswith(_PREFIX):
        raise OptionError(
            f"path {text!r}: expected {_PREFIX}tenant/namespace/name, got another form; correct the path"
        )
    parts = [part for part in text.removeprefix(_PREFIX).split("/") if part]
    if len(parts) < _LEAST_PARTS or any(part in {".", ".."} for part in parts):
        raise OptionError(
            f"path {text!r}: expected {_PREFIX}tenant/namespace/name and a path below it without '.' and '..', got "
            f"another form; correct the path"
        )
    tenant, namespace, name, *rest = parts
    try:
        checkpoint = CheckpointName(Namespace.parse(f"{unquote(tenant)}/{namespace}"), name)
        TopicName.parse(str(checkpoint.index))
    except TopicNameError as fault:
        raise OptionError(f"path {text!r}: {fault}") from None
    return CheckpointPath(checkpoint, tuple(rest))
