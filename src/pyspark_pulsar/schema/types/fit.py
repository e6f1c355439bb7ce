"""Do values of one type fit another, down to the scalars? `source` is what they are, `target` what they become.

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

    # Source and target type and their path, for scalars and for kinds that do not pair, such as a list and a map.
    scalar: Callable[[pa.DataType, pa.DataType, str], str | None]
    # A member of the target that the source lacks: the member, the source's names, the prefix.
    missing: Callable[[pa.Field, Iterable[str], str], str | None]
    # A member of the source that the target lacks: its name, the target's names, the prefix.
    surplus: Callable[[str, Iterable[str], str], str | None]


def record_faults(
    source: Iterable[pa.Field], target: Iterable[pa.Field], prefix: str, rules: FitRules
) -> Iterator[str]:
    """Faults of members without a counterpart and of nested types: first of what the source has alone, then in the
    order of `target`."""
    source_fields = {field.name: field for field in source}
    target_fields = list(target)
    names = dict.fromkeys(field.name for field in target_fields)
    for name in source_fields:
        if name not in names:
            yield from _told(rules.surplus(name, names, prefix))
    for field in target_fields:
        if field.name in source_fields:
            yield from type_faults(source_fields[field.name].type, field.type, f"{prefix}{field.name}", rules)
        else:
            yield from _told(rules.missing(field, source_fields, prefix))


def type_faults(source: pa.DataType, target: pa.DataType, path: str, rules: FitRules) -> Iterator[str]:
    """Every fault of values of type `source` as `target`, nested ones named by their path."""
    if types.is_struct(source) and types.is_struct(target):
        yield from record_faults(source, target, f"{path}.", rules)
    elif types.is_list(source) and types.is_list(target):
        yield from type_faults(source.value_type, target.value_type, f"{path}[]", rules)
    elif types.is_map(source) and types.is_map(target):
        yield from type_faults(source.key_type, target.key_type, f"{path}{{key}}", rules)
        yield from type_faults(source.item_type, target.item_type, f"{path}{{}}", rules)
    else:
        yield from _told(rules.scalar(source, target, path))


def _told(fault: str | None) -> Iterator[str]:
    if fault is not None:
        yield fault
