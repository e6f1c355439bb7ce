"""Reading the bytes of small files from records of the index: the PUT record of a file, or a part of a snapshot."""

from __future__ import annotations

from pyspark_pulsar.checkpoint.clients import Cluster
from pyspark_pulsar.checkpoint.content.chunk_locations import messages
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.log import IndexLog
from pyspark_pulsar.checkpoint.index.records import Kind, Record, decode
from pyspark_pulsar.checkpoint.index.snapshot import entries_of
from pyspark_pulsar.checkpoint.index.state import IndexState
from pyspark_pulsar.checkpoint.index.tree import File
from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, position_text
from pyspark_pulsar.checkpoint.refusals import file_gone
from pyspark_pulsar.errors import CheckpointLost
from pyspark_pulsar.model.topic import TopicPartition


class InlineBodies:
    """A reader of the small files that are stored in one index."""

    def __init__(self, cluster: Cluster, partition: TopicPartition, index: IndexLog) -> None:
        self._cluster = cluster
        self._partition = partition
        self._index = index

    def read(self, file: File, where: str, deadline: Deadline) -> bytes:
        """Return the bytes of a small file, from memory or from the topic.

        Args:
            file: The file in the index.
            where: The name of the file, for error texts.
            deadline: The time after which the call fails.

        Raises:
            CheckpointLost: The record with the file's bytes was removed.
            CheckpointPathNotFound: The file was deleted, and the record with the file's bytes was removed.
            DeadlineExceeded: The broker did not answer in time.

        """
        if file.length == 0:
            return b""
        known = self._index.body(file.id)
        if known is not None:
            return known
        at = self._position(file)
        while True:
            try:
                body = self._fetch(file.id, at, where)
            except CheckpointLost:
                # The owner may have copied the bytes into a snapshot that this process has not read yet, and then
                # removed the older records.
                self._index.sync(deadline)
                if self._index.look(lambda state: file.id not in state.tree.files):
                    raise file_gone(where, file.id) from None
                previous, at = at, self._position(file)
                if at == previous:
                    raise
            else:
                self._index.keep_body(file.id, body)
                return body

    def _position(self, file: File) -> MessagePosition | None:
        """Return the position of the record that contains the file's bytes.

        Each snapshot copies the bytes to a new position. For a deleted file, return the last known position.
        """

        def look(state: IndexState) -> MessagePosition | None:
            now = state.tree.files.get(file.id)
            return file.inline_at if now is None else now.inline_at

        return self._index.look(look)

    def _fetch(self, file_id: str, at: MessagePosition | None, where: str) -> bytes:
        """Read a file's bytes from the topic. Raises `CheckpointLost` if the record does not contain these bytes."""
        if at is not None:
            with self._cluster.borrowed() as client:
                for position, payload in messages(client, self._partition, at, at, where):
                    record = decode(payload, f"{self._partition}, message {position_text(position)}")
                    body = _body_in(position, record, file_id)
                    if body is not None:
                        return body
        raise CheckpointLost(
            f"{where}: expected the content of the file in message {position_text(at)} of {self._partition}, got "
            f"none. The message was removed by a truncation, an expiry or a moved subscription; restore the "
            f"checkpoint from a copy (pyspark-pulsar checkpoint copy)"
        )


def _body_in(position: MessagePosition, record: Record, file_id: str) -> bytes | None:
    if record.kind is not Kind.SNAPSHOT:
        return record.body if record.id == file_id else None
    return next((body for file, _, body in entries_of(position, record) if file and file.id == file_id), None)
