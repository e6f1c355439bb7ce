"""Checks of the schemas of a running stream's topics. Driver only.

A stream keeps its initial columns, so a new schema version changes nothing for it. A log line reports the columns that
the query will have after its next start. If a pattern matches a new topic, the query must be able to read the topic's
schema. Without this check, the bytes of its messages would be decoded with the wrong schema. The result would be wrong
values without an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

import pyarrow as pa

from pyspark_pulsar.codec.decode import check_readable
from pyspark_pulsar.codec.kernel_errors import version_text
from pyspark_pulsar.errors import PulsarError, SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.runtime import time
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
    """A check of all new topics at each trigger, and of at most 100 known topics a minute, in turn.

    Used by one thread.
    """

    def __init__(
        self,
        schema: ReadSchema,
        latest_schema: LatestSchema,
        clock: Callable[[], float] = time.monotonic,
        *,
        skips_bad_rows: bool = False,
    ) -> None:
        """Store the arguments.

        Args:
            schema: The schema that the query started with.
            latest_schema: Requests the latest schema of a topic.
            clock: Returns monotonic seconds.
            skips_bad_rows: Whether the query continues after messages that it cannot decode (option `mode`).

        """
        self._schema = schema
        self._latest_schema = latest_schema
        self._clock = clock
        self._skips_bad_rows = skips_bad_rows
        self._next_check = clock() + CHECK_AGAIN_SECONDS
        self._waiting: list[TopicName] = []
        self._known: set[TopicName] | None = None
        self._logged: set[tuple[TopicName, bytes | None]] = set()
        # Most topics have the same schema, even if there are thousands of topics.
        self._differences_by_schema: dict[tuple[SchemaType, bytes], str] = {}

    def check(self, topics: Iterable[TopicName]) -> None:
        """Check new topics, and log schema changes of known topics. The topics of the first call are known topics.

        Raises:
            SchemaError: The query cannot read a new topic.

        """
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
        """Check a new topic. A topic without a schema stays new, because its first producer may set a schema."""
        info = self._latest_schema(topic)
        if info is None or info.type is SchemaType.NONE:
            return
        self._refuse_unreadable(topic, info)
        self._log_change(topic, info)
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
            why = f" ({_without_topic(fault, topic)})"
        raise SchemaError(
            f"topic {topic}, which the query has just found: expected a schema compatible with the query's "
            f"initial schema {schema_text(started)}, got {schema_text(info)}{why}; restart the query if the "
            "topics have a common schema, exclude the topic, or start a query with allowDifferentTopicSchemas=true"
        )

    def _check_in_turn(self) -> None:
        if not self._waiting:
            self._waiting = sorted(self._known or ())
        turn, self._waiting = self._waiting[:TOPICS_PER_CHECK], self._waiting[TOPICS_PER_CHECK:]
        for topic in turn:
            try:
                info = self._latest_schema(topic)
            except PulsarError as fault:
                # The query does not need the latest schema, so it continues after a failure.
                _log.warning("looking up the schema failed: %s: topic %s", fault, topic)
                return
            if info is not None:
                self._log_change(topic, info)

    def _log_change(self, topic: TopicName, info: SchemaInfo) -> None:
        if (topic, info.version) in self._logged:
            return
        self._logged.add((topic, info.version))
        text = (info.type, info.document)
        if text not in self._differences_by_schema:
            self._differences_by_schema[text] = self._differences(topic, info)
        if self._differences_by_schema[text]:
            _log.warning(
                "topic %s has a new schema, version %s: %s. The query continues with the columns that it started with; "
                "the next start will use the new ones.",
                topic, version_text(info.version or b""), self._differences_by_schema[text],
            )  # fmt: skip

    def _differences(self, topic: TopicName, info: SchemaInfo) -> str:
        """Return a text about the columns that the next start would change; empty if it would change none."""
        started = self._schema.info
        if identity(info) == identity(started):
            return ""
        try:
            before, after = self._columns(topic, started), self._columns(topic, info)
            if started is not None and self._known != {topic}:
                # The other topics keep their previous schemas.
                if started.type not in (SchemaType.AVRO, SchemaType.JSON):
                    before = self._schema.value_columns
                    added = [field for field in after if field.name not in before.names]
                    return differences(before, pa.schema([*before, *added]))
                after = self._columns(topic, united({_STARTED: started, str(topic): info})[0])
        except SchemaError as fault:
            return f"the query cannot read it ({_without_topic(fault, topic)})"
        return differences(before, after)

    def _columns(self, topic: TopicName, info: SchemaInfo | None) -> pa.Schema:
        return resolve_read_schema(info, topic=str(topic)).value_columns


def _without_topic(fault: SchemaError, topic: TopicName) -> str:
    """Return the text of an error without the topic, which the surrounding text names."""
    return str(fault).removeprefix(f"topic {topic}: ").removeprefix(f"topic {topic}, ")


def differences(before: pa.Schema, after: pa.Schema) -> str:
    """Return the differences between the columns of two schemas, as text; empty if the columns are equal."""
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
