"""Mutations of checkpoints in Pulsar: each removes one protection. The simulation must find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Patch = tuple[object, str, Any]

MUTATIONS: dict[str, Callable[[], list[Patch]]] = {}
