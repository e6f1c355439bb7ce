"""Procedures as Spark sees them, and calls that are refused without a server."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.procedures import procedure_calls
from pyspark_pulsar.catalog.procedures.signature import WAIT
from pyspark_pulsar.errors import CatalogUnsupported, OptionError

CLUSTER = cast(Cluster, SimpleNamespace(admin=None))


def test_all_are_in_the_namespace_system() -> None:
    assert procedure_calls.list_procedures(CLUSTER, ["system"]) == [
        "compact",
        "offload",
        "terminate",
        "unload",
    ]
    assert procedure_calls.list_procedures(CLUSTER, ["public", "default"]) == []


@pytest.mark.parametrize("name", ["compact", "COMPACT"])
def test_arguments_are_named_and_typed(name: str) -> None:
    told = procedure_calls.load_procedure(CLUSTER, ["system"], name)
    assert [(each["name"], each["type"], each["default"]) for each in told["parameters"]] == [
        ("table", "STRING", None),
        ("wait", "BOOLEAN", "false"),
    ]
    assert [field["name"] for field in told["schema"]["fields"]] == ["partition", "status", "error"]


@pytest.mark.parametrize(
    ("namespace", "name"), [(["system"], "drop"), (["public"], "compact"), ([], "compact")]
)
def test_another_name_is_refused_with_the_existing_ones(namespace: list[str], name: str) -> None:
    with pytest.raises(CatalogUnsupported, match=r"system\.compact, system\.offload"):
        procedure_calls.load_procedure(CLUSTER, namespace, name)


@pytest.mark.parametrize(
    ("name", "table", "arguments", "fault", "text"),
    [
        ("terminate", "t", {"forever": False}, CatalogUnsupported, "no producer can ever write"),
        ("compact", "t$offsets", {"wait": False}, CatalogUnsupported, "system table"),
        ("offload", "t", {"keep_bytes": -1, "wait": False}, OptionError, "0 or more"),
        ("compact", "non-persistent://t", {"wait": False}, CatalogUnsupported, "stores no messages"),
    ],
)
def test_what_is_refused_before_anything_is_done(
    name: str, table: str, arguments: Mapping[str, Any], fault: type[Exception], text: str
) -> None:
    assert WAIT.default == "false"
    with pytest.raises(fault, match=text):
        procedure_calls.call_procedure(CLUSTER, name, ["public", "default"], table, arguments)
