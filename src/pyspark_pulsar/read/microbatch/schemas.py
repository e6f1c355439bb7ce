"""What happens to the schemas of a running stream's topics. Driver only.

A stream keeps the columns it started with, so a new version of a schema changes nothing for it: the log says what
the next start will see. A topic that a pattern finds later must have a schema that the query can read: bytes read as
something else than was written would be nonsense without an error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

import pyarrow as pa

from pyspark_pulsar.codec.decode import check_readable
from pyspark_pulsar.codec.kernel_errors import version_text
from pyspark_pulsar.errors import PulsarError, SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.family.same_schema import identity, schema_text
from pyspark_pulsar.schema.family.union import united
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema
from pyspark_pulsar.schema.types.type_text import type_text

CHECK_AGAIN_SECONDS: Final = 60.0
TOPICS_PER_CHECK: Final = 100

LatestSchema = Callable[[TopicName], SchemaInfo | None]

_STARTED: Final = "the schema that the query started with"

_log: Final = logging.getLogger(__name__)


class SchemaWatch:
    """Used by one thread: once for each trigger. Checks new topics at once, and known ones at most 100 a
    minute, in turn."""

    def __init__(
        self,
        schema: ReadSchema,
        latest_schema: LatestSchema,
        clock: Callable[[], float] = time.monotonic,
        *,
        skips_bad_rows: bool = False,
    ) -> None:
        """`schema` is what the query started with; `latest_schema` asks for a topic's. `skips_bad_rows`: the
        query goes on behind messages that do not decode (option `mode`)."""
        self._schema = schema
        self._latest_schema = latest_schema
        self._clock = clock
        self._skips_bad_rows = skips_bad_rows
        self._next_check = clock() + CHECK_AGAIN_SECONDS
        self._waiting: list[TopicName] = []
        self._known: set[TopicName] | None = None
        self._told: set[tuple[TopicName, bytes | None]] = set()
        # Of thousands of topics most have the same text.
        self._told_of: dict[tuple[SchemaType, bytes], str] = {}

    def check(self, topics: Iterable[TopicName]) -> None:
        """Raises `SchemaError` for a new topic that the query cannot read; logs what else is new. The topics of the
        first call are those that the query's schema was resolved from."""
        now = {topic.without_partition() for topic in topics}
        if self._schema.info is None:
            return
        if self._known is None:
            self._known = set(now)
        for topic in sorted(now - self._known):
            self._check_new(topic)
        self._known &= now
        if self._clock() >= self._next_check:
            self._next_check = self._clock() + CHECK_AGAIN_SECONDS
            self._check_in_turn()

    def _check_new(self, topic: TopicName) -> None:
        """A topic without a schema yet may get one with its first producer; it is asked for again."""
        info = self._latest_schema(topic)
        if info is None or info.type is SchemaType.NONE:
            return
        self._refuse_unreadable(topic, info)
        self._tell(topic, info)
        if self._known is not None:
            self._known.add(topic)

    def _refuse_unreadable(self, topic: TopicName, info: SchemaInfo) -> None:
        started = self._schema.info
        if started is None:
            return
        try:
            if info.type is started.type:
                united({_STARTED: started, str(topic): info})
                check_readable(self._schema, topic, info)
                return
            why = ""
        except SchemaError as fault:
            if self._skips_bad_rows:
                return
            why = f" ({fault})"
        raise SchemaError(
            f"topic {topic}, which the query has just found: expected a schema that can be read by the one that the "
            f"query started with, {schema_text(started)}, got {schema_text(info)}{why}; start the query again if the "
            "topics are one table, exclude the topic, or start a query with allowDifferentTopicSchemas=true"
        )

    def _check_in_turn(self) -> None:
        if not self._waiting:
            self._waiting = sorted(self._known or ())
        turn, self._waiting = self._waiting[:TOPICS_PER_CHECK], self._waiting[TOPICS_PER_CHECK:]
        for topic in turn:
            try:
                info = self._latest_schema(topic)
            except PulsarError as fault:
                # Not what the query lives on: what it needs it will ask for itself, and fail on.
                _log.warning("topic %s: its schema cannot be looked up: %s", topic, fault)
                return
            if info is not None:
                self._tell(topic, info)

    def _tell(self, topic: TopicName, info: SchemaInfo) -> None:
        if (topic, info.version) in self._told:
            return
        self._told.add((topic, info.version))
        text = (info.type, info.document)
        if text not in self._told_of:
            self._told_of[text] = self._differences(topic, info)
        if self._told_of[text]:
            _log.warning(
                "topic %s has a new schema, version %s: %s. The query goes on with the columns that it started with; "
                "the next start will see the new ones.",
                topic, version_text(info.version or b""), self._told_of[text],
            )  # fmt: skip

    def _differences(self, topic: TopicName, info: SchemaInfo) -> str:
        """What the next start would see; nothing where that is what the query sees already."""
        started = self._schema.info
        if identity(info) == identity(started):
            return ""
        try:
            before, after = self._columns(topic, started), self._columns(topic, info)
            if started is not None and self._known != {topic}:
                # The schemas of the other topics are still there.
                if started.type not in (SchemaType.AVRO, SchemaType.JSON):
                    before = self._schema.value_columns
                    added = [field for field in after if field.name not in before.names]
                    return differences(before, pa.schema([*before, *added]))
                after = self._columns(topic, united({_STARTED: started, str(topic): info})[0])
        except SchemaError as fault:
            return f"it cannot be read ({fault})"
        return differences(before, after)

    def _columns(self, topic: TopicName, info: SchemaInfo | None) -> pa.Schema:
        return resolve_read_schema(info, topic=str(topic)).value_columns


def differences(before: pa.Schema, after: pa.Schema) -> str:
    """What a reader sees of a change from one schema to another, in words; empty where that is nothing."""
    old, new = ({field.name: field.type for field in schema} for schema in (before, after))
    added = [f"{name} {type_text(new[name])}" for name in new if name not in old]
    removed = [name for name in old if name not in new]
    changed = [
        f"{name} {type_text(old[name])} to {type_text(new[name])}"
        for name in old
        if name in new and old[name] != new[name]
    ]
    parts = (("new fields", added), ("removed fields", removed), ("changed types", changed))
    return "; ".join(f"{title}: {', '.join(names)}" for title, names in parts if names)
