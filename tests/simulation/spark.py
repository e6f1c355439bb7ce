"""A pool of clients for each simulated process, and replacements of the package's references to Spark."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.client_pool import IDLE_SECONDS, ClientPool
from simulation import runtime


def pooled_client(options: Any) -> AbstractContextManager[BrokerClient]:
    """Return a client of the pool of the present process."""
    memory = runtime.world.process.memory
    if "pool" not in memory:
        memory["pool"] = ClientPool(IDLE_SECONDS)
    return memory["pool"].client(options)  # type: ignore[no-any-return]


def replace(modules: Mapping[ModuleType, Mapping[str, Any]]) -> None:
    """Set attributes of modules of the package, for the whole process of the simulation."""
    for module, attributes in modules.items():
        for name, value in attributes.items():
            assert hasattr(module, name), f"{module.__name__} has no {name}"
            setattr(module, name, value)
