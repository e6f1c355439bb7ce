"""Two types side by side, down to the scalars: what is given, and what it is wanted as.

The walk pairs the members of records by name, the items of lists, the keys and values of maps. What counts as a
fault is for the caller to say, and so is the way it is put.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types


@dataclass(frozen=True, slots=True)
class FitRules:
    """What is a fault, by kind. Each rule gives the fault's text, or None where there is none.

    `prefix` is the path of a record with the dot behind it, and empty at the top.
    """

    # Given and wanted type and their path, for scalars and for kinds that do not pair, such as a list and a map.
    scalar: Callable[[pa.DataType, pa.DataType, str], str | None]
    # A wanted member that is not given: the member, the names that are given, the prefix.
    missing: Callable[[pa.Field, Iterable[str], str], str | None]
    # A given member that is not wanted: its name, the names that are wanted, the prefix.
    surplus: Callable[[str, Iterable[str], str], str | None]


def record_faults(
    given: Iterable[pa.Field], wanted: Iterable[pa.Field], prefix: str, rules: FitRules
) -> Iterator[str]:
    """Faults of members without a counterpart and of nested types: first of what is given alone, then in the order
    of `wanted`."""
    have = {field.name: field for field in given}
    want = list(wanted)
    names = dict.fromkeys(field.name for field in want)
    for name in have:
        if name not in names:
            yield from _told(rules.surplus(name, names, prefix))
    for field in want:
        if field.name in have:
            yield from type_faults(have[field.name].type, field.type, f"{prefix}{field.name}", rules)
        else:
            yield from _told(rules.missing(field, have, prefix))


def type_faults(given: pa.DataType, wanted: pa.DataType, path: str, rules: FitRules) -> Iterator[str]:
    """Every fault of values of type `given` as `wanted`, nested ones named by their path."""
    if types.is_struct(given) and types.is_struct(wanted):
        yield from record_faults(given, wanted, f"{path}.", rules)
    elif types.is_list(given) and types.is_list(wanted):
        yield from type_faults(given.value_type, wanted.value_type, f"{path}[]", rules)
    elif types.is_map(given) and types.is_map(wanted):
        yield from type_faults(given.key_type, wanted.key_type, f"{path}{{key}}", rules)
        yield from type_faults(given.item_type, wanted.item_type, f"{path}{{}}", rules)
    else:
        yield from _told(rules.scalar(given, wanted, path))


def _told(fault: str | None) -> Iterator[str]:
    if fault is not None:
        yield fault
