"""The procedures of the catalog by name, and the calls with which the JVM lists and runs procedures."""

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
    """Return the names of the procedures in a namespace. Only the namespace `system` contains procedures."""
    return sorted(PROCEDURES) if list(namespace) == [_NAMESPACE] else []


def load_procedure(cluster: Cluster, namespace: Sequence[str], name: str) -> dict[str, Any]:  # noqa: ARG001
    """Return the signature of a procedure. Raises `CatalogUnsupported` if the name is unknown."""
    if list(namespace) != [_NAMESPACE] or name.lower() not in PROCEDURES:
        known = ", ".join(f"{_NAMESPACE}.{each}" for each in sorted(PROCEDURES))
        raise CatalogUnsupported(
            f"procedure {'.'.join([*namespace, name])}: expected one of {known}, got another name; correct the name"
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
    """Run a procedure. Raises the errors of the procedure, and the errors below.

    Raises:
        CatalogUnsupported: The table is a system table.
        OptionError: `admin.url` is not set.

    """
    named = parse_table(namespace, table)
    if named.system is not None:
        raise CatalogUnsupported(
            f"CALL {name}: expected the table of a topic, got the system table {named.name}; name the topic"
        )
    _ = cluster.admin
    return _answer_document(name, PROCEDURES[name].call(cluster, named.topic, **arguments))


def follow_procedure(cluster: Cluster, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the progress of a call. `state` is the value of `follow` in the previous answer."""
    return _answer_document(name, PROCEDURES[name].follow(cluster, state))


def _answer_document(name: str, answer: Answer) -> dict[str, Any]:
    """Convert an answer to a document for the JVM.

    While the broker is working, the document contains the next call and the pause before this call.
    """
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
    """Terminate a topic. Raises `CatalogUnsupported` unless `forever` is true."""
    if not forever:
        raise CatalogUnsupported(
            f"CALL terminate of {topic}: expected forever => true, because no producer can ever write to the topic "
            "again, got false; add forever => true, or leave the topic open"
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
        "Ends a topic forever: its messages can be read, and no producer can write to it again.",
        pa.schema({"partition": pa.int32(), "end": pa.string()}),
        _terminate,
        (Parameter("forever", "BOOLEAN", "false", "must be true, because the call cannot be undone"),),
    ),
    "unload": Procedure(
        "Unloads a topic from its broker. The broker closes the open ledger, and all clients connect again.",
        pa.schema({"topic": pa.string()}),
        _unload,
    ),
}
