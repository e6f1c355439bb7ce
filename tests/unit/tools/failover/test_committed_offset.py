"""The offsets that Spark has recorded for a query, and the copy with which the query continues."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyspark_pulsar.errors import CheckpointError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.tools.failover.committed_offset import committed_offset, copy_moved

TOPIC = TopicPartition.parse("persistent://public/default/t-partition-0")
OTHER = TopicPartition.parse("persistent://public/default/u")
HEAD = '{"batchWatermarkMs":0,"batchTimestampMs":1}'


def offset(position: str, topic: TopicPartition = TOPIC) -> str:
    more = {"from": {topic.name: "1:0:0"}, "passed": {topic.name: "15:0:0"}}
    return json.dumps({"version": 1, "positions": {topic.name: position}} | more)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Micro-batches 9 and 10 are written, 11 is planned."""
    where = tmp_path / "checkpoint"
    files = {
        "metadata": '{"id":"6f"}',
        "offsets/9": f"v1\n{HEAD}\n-\n{offset('12:5:0')}",
        "offsets/10": f"v1\n{HEAD}\n-\n{offset('12:7:3')}",
        "offsets/11": f"v1\n{HEAD}\n-\n{offset('12:9:0')}",
        "offsets/.11.crc": "crc",
        "offsets/.10.crc": "crc",
        "commits/9": "v1\n{}",
        "commits/10": "v1\n{}",
        "commits/.10.crc": "crc",
        "state/0/0/11.delta": "state",
    }
    for name, text in files.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(text)
    return where


def test_the_last_micro_batch_that_is_written_counts(checkpoint: Path) -> None:
    committed = committed_offset(checkpoint)
    assert committed.batch == 10
    assert committed.offset.positions == {TOPIC: Position(12, 7, 3)}


def test_the_offset_of_a_progress_will_do(tmp_path: Path) -> None:
    file = tmp_path / "endOffset.json"
    for text in (offset("12:7"), json.dumps(offset("12:7"))):
        file.write_text(text)
        assert committed_offset(file).offset.positions == {TOPIC: Position(12, 7)}
    with pytest.raises(CheckpointError, match=r"expected a checkpoint's folder to copy, got a file"):
        copy_moved(file, tmp_path / "copy", committed_offset(file), {})


def test_sources_are_distinguished(checkpoint: Path) -> None:
    text = f"v2\n{HEAD}\n0:{offset('1:1')}\nfiles:{{}}\nmine:{offset('2:2', OTHER)}"
    (checkpoint / "offsets" / "10").write_text(text)
    with pytest.raises(CheckpointError, match=r"got 2; choose one with --source: 0: .*/t; 1: .*/u"):
        committed_offset(checkpoint)
    assert committed_offset(checkpoint, 0).offset.positions == {TOPIC: Position(1, 1)}
    second = committed_offset(checkpoint, 1)
    assert second.offset.positions == {OTHER: Position(2, 2)}
    copy_moved(checkpoint, checkpoint.parent / "copy", second, {OTHER: Position(3, 3)})
    lines = (checkpoint.parent / "copy" / "offsets" / "10").read_text().splitlines()
    assert lines[:4] == text.splitlines()[:4]
    assert lines[4] == f'mine:{{"positions": {{"{OTHER}": "3:3:0"}}, "version": 1}}'
    with pytest.raises(CheckpointError, match=r"one of the 2 sources that read from Pulsar, .* got 2"):
        committed_offset(checkpoint, 2)


def test_a_copied_query_continues_with_its_state_under_another_id(checkpoint: Path) -> None:
    target = checkpoint.parent / "copy"
    copy_moved(checkpoint, target, committed_offset(checkpoint), {TOPIC: Position(3, 1, 2)})
    assert committed_offset(target).offset.positions == {TOPIC: Position(3, 1, 2)}
    moved = committed_offset(target).offset
    assert (moved.starts, moved.passed) == ({}, {}), "positions of the other cluster"
    names = {str(file.relative_to(target)) for file in target.rglob("*") if file.is_file()}
    kept = {"metadata", "offsets/9", "offsets/10", "commits/9", "commits/10", "commits/.10.crc"}
    assert names == kept | {"state/0/0/11.delta"}
    assert json.loads((target / "metadata").read_text())["id"] != "6f"
    with pytest.raises(CheckpointError, match=r"expected a new or empty folder"):
        copy_moved(checkpoint, target, committed_offset(checkpoint), {TOPIC: EARLIEST})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("offsets/10", f"v1\n{HEAD}\n-", "got 3 lines without such a source"),
        (
            "offsets/10",
            f'v1\n{HEAD}\n{{"positions": 3, "version": 1}}',
            "expected the offset of a query that reads",
        ),
        (
            "offsets/10",
            f'v1\n{HEAD}\n{{"positions": {{}}, "version": 1}}',
            "of a query that has read nothing",
        ),
        ("commits/12", "v1", "offsets/12: expected a file of a checkpoint"),
    ],
)
def test_a_checkpoint_of_another_kind_of_query_is_refused(
    checkpoint: Path, name: str, text: str, said: str
) -> None:
    (checkpoint / name).write_text(text)
    with pytest.raises(CheckpointError, match=said):
        committed_offset(checkpoint)


def test_a_folder_without_a_checkpoint_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"pyspark-pulsar checkpoint copy"):
        committed_offset(tmp_path / "none")
    for file in (checkpoint / "commits").iterdir():
        file.unlink()
    with pytest.raises(CheckpointError, match=r"start the query with a new checkpoint"):
        committed_offset(checkpoint)
