"""Spark's checkpoint of a streaming query, as far as it says what the query has read. Local folders.

    metadata     {"id": "..."}
    offsets/7    v1, a line of JSON about the micro-batch, and a line with the offset of each source, or "-"
    commits/7    there when micro-batch 7 is written

In v2 of an offset's file each source's line begins with its name and a colon. Beside a file lies a checksum of it,
`.7.crc`, where Hadoop's file system wrote it.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pyspark_pulsar.errors import CheckpointError, ProtocolError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.spark.progress_offset import offset_document

_HEAD_LINES: Final = 2
_SOURCE: Final = re.compile(r"(?P<name>[^{]*:)?(?P<offset>\{.*\})")


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """What one source of a query has read."""

    offset: StreamOffset
    batch: int | None = None
    """The last micro-batch that is written; None where the offset is not of a checkpoint."""
    line: int | None = None
    """That of its file."""


def committed_offset(where: Path, source: int | None = None) -> CommittedOffset:
    """Of the last micro-batch that is written. `where`: a checkpoint's folder, or a file with nothing but the JSON of
    an offset, such as `endOffset` of a query's progress. `source`: which of the query's Pulsar sources, from 0.

    Raises `CheckpointError`, `ProtocolError`.
    """
    if where.is_file():
        return CommittedOffset(_offset(_text(where), where))
    batch = _last_batch(where)
    file = where / "offsets" / str(batch)
    lines = _text(file).splitlines()
    matches = [
        (number, _SOURCE.fullmatch(line)) for number, line in enumerate(lines) if number >= _HEAD_LINES
    ]
    of_pulsar: list[CommittedOffset] = []
    for number, match in matches:
        if match is not None and '"positions"' in match["offset"]:
            of_pulsar.append(CommittedOffset(_offset(match["offset"], file), batch, number))
    if source is None and len(of_pulsar) > 1:
        topics = "; ".join(
            f"{number}: {min(known.offset.positions).topic}" for number, known in enumerate(of_pulsar)
        )
        raise CheckpointError(
            f"{file}: expected one source that reads from Pulsar, got {len(of_pulsar)}; say which (--source): {topics}"
        )
    if (source or 0) >= len(of_pulsar):
        raise CheckpointError(
            f"{file}: expected the offset of a source that reads from Pulsar, got {len(of_pulsar)} of them in "
            f"{len(lines)} lines; check that this is the checkpoint of the query"
        )
    return of_pulsar[source or 0]


def copy_moved(
    where: Path, target: Path, committed: CommittedOffset, positions: Mapping[TopicPartition, Position]
) -> None:
    """A copy of the checkpoint from which the query goes on at `positions`, with its state, as another query: it has
    another id. `committed` is what `where` says. Raises `CheckpointError`, before anything is written."""
    if committed.batch is None or committed.line is None:
        raise CheckpointError(f"{where}: expected a checkpoint's folder to copy, got a file")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CheckpointError(f"{target}: expected no such folder, or an empty one, got one with files")
    shutil.copytree(where, target, dirs_exist_ok=True)
    for file in (target / "offsets").iterdir():
        # What was planned and not written is planned again, from where the query goes on.
        if file.name.isdecimal() and int(file.name) > committed.batch:
            _remove(file)
    file = target / "offsets" / str(committed.batch)
    lines = _text(file).splitlines()
    former = _SOURCE.fullmatch(lines[committed.line])
    moved = replace(committed.offset, positions=positions, starts={}, passed={}, ended=None)
    name = (former and former["name"]) or ""
    lines[committed.line] = name + json.dumps(moved.to_json(), sort_keys=True)
    _rewrite(file, "\n".join(lines))
    _rewrite(target / "metadata", json.dumps({"id": str(uuid.uuid4())}))


def _last_batch(where: Path) -> int:
    try:
        written = [int(file.name) for file in (where / "commits").iterdir() if file.name.isdecimal()]
    except OSError as fault:
        raise CheckpointError(
            f"{where}: expected the folder of a streaming query's checkpoint, with a folder commits, got none "
            f"({fault}); copy a checkpoint that lies elsewhere to a local folder first, one in Pulsar with "
            f"`pyspark-pulsar checkpoint copy`"
        ) from None
    if not written:
        raise CheckpointError(
            f"{where}: expected a micro-batch that is written, got none; start the query as a new one"
        )
    return max(written)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise CheckpointError(
            f"{file}: expected a file of a checkpoint, got none that can be read: {fault}"
        ) from None


def _offset(text: str, file: Path) -> StreamOffset:
    try:
        # What is not understood at all JSON's parser says why.
        document: Any = offset_document(text) or json.loads(text)
        if isinstance(document, str):
            # As a progress has it that was written as JSON itself.
            document = json.loads(document)
        offset = StreamOffset.from_json(document)
    except (ValueError, AttributeError, ProtocolError) as fault:
        raise CheckpointError(
            f"{file}: expected the offset of a query that reads from Pulsar: {fault}"
        ) from None
    if not offset.positions:
        raise CheckpointError(
            f"{file}: expected an offset with positions, got one of a query that has read nothing"
        )
    return offset


def _rewrite(file: Path, text: str) -> None:
    _remove(file)
    file.write_text(text, encoding="utf-8")


def _remove(file: Path) -> None:
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
