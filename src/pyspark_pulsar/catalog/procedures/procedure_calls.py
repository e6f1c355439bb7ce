"""The procedures by name, and what the JVM asks about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.names import parse_table
from pyspark_pulsar.catalog.procedures.broker_work import COMPACT, OFFLOAD
from pyspark_pulsar.catalog.procedures.signature import TABLE, Answer, Parameter, Procedure
from pyspark_pulsar.errors import CatalogUnsupported
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.types.spark import spark_schema

_NAMESPACE: Final = "system"
_PAUSE_MS: Final = 250


def list_procedures(cluster: Cluster, namespace: Sequence[str]) -> list[str]:  # noqa: ARG001
    """All are in the namespace `system`."""
    return sorted(PROCEDURES) if list(namespace) == [_NAMESPACE] else []


def load_procedure(cluster: Cluster, namespace: Sequence[str], name: str) -> dict[str, Any]:  # noqa: ARG001
    """Raises `CatalogUnsupported` for a name that is none."""
    if list(namespace) != [_NAMESPACE] or name.lower() not in PROCEDURES:
        known = ", ".join(f"{_NAMESPACE}.{each}" for each in sorted(PROCEDURES))
        raise CatalogUnsupported(
            f"procedure {'.'.join([*namespace, name])}: expected one of {known}, got another; correct the name"
        )
    procedure = PROCEDURES[name.lower()]
    return {
        "name": name.lower(),
        "description": procedure.description,
        "parameters": [_parameter(each) for each in (TABLE, *procedure.parameters)],
        "schema": spark_schema(procedure.columns).jsonValue(),
    }


def call_procedure(
    cluster: Cluster, name: str, namespace: Sequence[str], table: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Raises what the procedure does, `CatalogUnsupported` for a system table, `OptionError` without `admin.url`."""
    named = parse_table(namespace, table)
    if named.system is not None:
        raise CatalogUnsupported(
            f"CALL {name}: expected the table of a topic, got the system table {named.name}; name the topic"
        )
    _ = cluster.admin
    return _told(name, PROCEDURES[name].call(cluster, named.topic, **arguments))


def follow_procedure(cluster: Cluster, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """How far it is what an answer said to follow."""
    return _told(name, PROCEDURES[name].follow(cluster, state))


def _told(name: str, answer: Answer) -> dict[str, Any]:
    """With what to ask next, and after which pause, while it is waited for."""
    if answer.follow is None:
        return {"rows": answer.rows}
    return {"rows": answer.rows, "follow": {"name": name, "state": answer.follow}, "pause_ms": _PAUSE_MS}


def _parameter(parameter: Parameter) -> dict[str, str | None]:
    return {
        "name": parameter.name,
        "type": parameter.type,
        "default": parameter.default,
        "comment": parameter.comment,
    }


def _terminate(cluster: Cluster, topic: TopicName, *, forever: bool) -> Answer:
    """Raises `CatalogUnsupported` unless it is said that it is for ever."""
    if not forever:
        raise CatalogUnsupported(
            f"CALL terminate of {topic}: expected forever => true, since nobody can ever write to the topic again and "
            "no call undoes it, got false; say it, or leave the topic open"
        )
    ends = cluster.admin.operations.terminate(topic, cluster.client.partition_count(topic))
    return Answer([[index, str(end)] for index, end in sorted(ends.items())])


def _unload(cluster: Cluster, topic: TopicName) -> Answer:
    cluster.client.partition_count(topic)
    cluster.admin.operations.unload(topic)
    return Answer([[str(topic)]])


PROCEDURES: Final[Mapping[str, Procedure]] = {
    "compact": COMPACT,
    "offload": OFFLOAD,
    "terminate": Procedure(
        "Ends a topic for ever: what is there can be read, and nobody can write to it again.",
        pa.schema({"partition": pa.int32(), "end": pa.string()}),
        _terminate,
        (Parameter("forever", "BOOLEAN", "false", "must be true, since it cannot be undone"),),
    ),
    "unload": Procedure(
        "Has the broker close a topic, which ends its open ledger; its clients connect again.",
        pa.schema({"topic": pa.string()}),
        _unload,
    ),
}
