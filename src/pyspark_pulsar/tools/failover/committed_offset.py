"""The parts of Spark's checkpoint that record what a streaming query has read. Only local folders are supported.

    metadata     {"id": "..."}
    offsets/7    v1, a line of JSON about the micro-batch, and a line with the offset of each source, or "-"
    commits/7    exists after micro-batch 7 was written

In version 2 of an offset's file, the line of each source begins with the source's name and a colon. If Hadoop's file
system wrote the file, the same folder contains its checksum, in `.7.crc`.
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
    """The offset up to which one source of a query has read.

    Attributes:
        batch: The last micro-batch that was written; None if the offset is not from a checkpoint.
        line: The number of the offset's line in its file, from 0; None if the offset is not from a checkpoint.

    """

    offset: StreamOffset
    batch: int | None = None
    line: int | None = None


def committed_offset(where: Path, source: int | None = None) -> CommittedOffset:
    """Return the offset of the last micro-batch that was written.

    Args:
        where: The folder of a checkpoint, or a file that contains only the JSON of an offset, such as `endOffset` of a
            query's progress.
        source: The number of the query's Pulsar source, from 0; None if the query has only one Pulsar source.

    Raises:
        CheckpointError: The checkpoint cannot be read, or has no Pulsar source with this number. Or `source` is None,
            and the query has several Pulsar sources.

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
            f"{file}: expected one source that reads from Pulsar, got {len(of_pulsar)}; choose one with --source: "
            f"{topics}"
        )
    if not of_pulsar:
        raise CheckpointError(
            f"{file}: expected a source that reads from Pulsar, got {len(lines)} lines without such a source; correct "
            f"the path of the checkpoint"
        )
    if (source or 0) >= len(of_pulsar):
        raise CheckpointError(
            f"{file}: expected the number of one of the {len(of_pulsar)} sources that read from Pulsar, counted from "
            f"0, got {source}; correct --source"
        )
    return of_pulsar[source or 0]


def copy_moved(
    where: Path, target: Path, committed: CommittedOffset, positions: Mapping[TopicPartition, Position]
) -> None:
    """Copy a checkpoint with other positions, for a query that resumes in another cluster with its state.

    The copy has a new query id, because Spark treats the resumed query as a new query.

    Args:
        where: The folder of the checkpoint.
        target: The folder of the copy, which is empty or does not exist.
        committed: The result of `committed_offset` for `where`.
        positions: The next position of each topic partition in the other cluster.

    Raises:
        CheckpointError: `committed` is not from the folder of a checkpoint, or `target` contains files. In both cases,
            nothing was written.

    """
    if committed.batch is None or committed.line is None:
        raise CheckpointError(
            f"{where}: expected a checkpoint's folder to copy, got a file; pass the folder of the checkpoint"
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CheckpointError(
            f"{target}: expected a new or empty folder, got existing files; choose another folder"
        )
    shutil.copytree(where, target, dirs_exist_ok=True)
    for file in (target / "offsets").iterdir():
        # Planned micro-batches that were not written are planned again, from the new positions.
        if file.name.isdecimal() and int(file.name) > committed.batch:
            _remove(file)
    file = target / "offsets" / str(committed.batch)
    lines = _text(file).splitlines()
    previous = _SOURCE.fullmatch(lines[committed.line])
    moved = replace(committed.offset, positions=positions, starts={}, passed={}, ended=None)
    name = (previous and previous["name"]) or ""
    lines[committed.line] = name + json.dumps(moved.to_json(), sort_keys=True)
    _rewrite(file, "\n".join(lines))
    _rewrite(target / "metadata", json.dumps({"id": str(uuid.uuid4())}))


def _last_batch(where: Path) -> int:
    try:
        written = [int(file.name) for file in (where / "commits").iterdir() if file.name.isdecimal()]
    except OSError as fault:
        raise CheckpointError(
            f"{where}: expected the folder of a streaming query's checkpoint, with a folder commits, got none "
            f"({fault}); copy the checkpoint to a local folder first (from Pulsar, use `pyspark-pulsar checkpoint "
            f"copy`)"
        ) from None
    if not written:
        raise CheckpointError(
            f"{where}: expected a micro-batch that was written, got none; start the query with a new checkpoint"
        )
    return max(written)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise CheckpointError(
            f"{file}: expected a file of a checkpoint, got a file that cannot be read ({fault}); check the "
            f"path and its permissions"
        ) from None


def _offset(text: str, file: Path) -> StreamOffset:
    try:
        # If the text is not an offset, the error of the JSON parser explains why.
        document: Any = offset_document(text) or json.loads(text)
        if isinstance(document, str):
            # A progress that was written as JSON contains the offset as a JSON string.
            document = json.loads(document)
        offset = StreamOffset.from_json(document)
    except (ValueError, AttributeError, ProtocolError) as fault:
        raise CheckpointError(
            f"{file}: expected the offset of a query that reads from Pulsar, got another text ({fault}); check the "
            f"path"
        ) from None
    if not offset.positions:
        raise CheckpointError(
            f"{file}: expected an offset with positions, got an offset of a query that has read nothing; start the "
            f"query with a new checkpoint"
        )
    return offset


def _rewrite(file: Path, text: str) -> None:
    _remove(file)
    file.write_text(text, encoding="utf-8")


def _remove(file: Path) -> None:
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
