"""Comparison of a source type with a target type, to find the parts of the source that do not fit the target.

The comparison pairs the members of records by name, the items of lists, and the keys and values of maps. The caller's
rules define the faults and their texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types


@dataclass(frozen=True, slots=True)
class FitRules:
    """Rules that decide whether a source type fits a target type. Each rule returns the text of a fault, or None.

    The rules `missing` and `surplus` receive a prefix, which is the path of a record with a final dot. At the top
    level, the prefix is empty.

    Attributes:
        scalar: The rule for scalars and for types that do not pair, such as a list and a map. The arguments of the rule
            are the source type, the target type and their path.
        missing: The rule for a member of the target that the source lacks. The arguments of the rule are the member,
            the names of the source's members, and the prefix.
        surplus: The rule for a member of the source that the target lacks. The arguments of the rule are the member's
            name, the names of the target's members, and the prefix.

    """

    scalar: Callable[[pa.DataType, pa.DataType, str], str | None]
    missing: Callable[[pa.Field, Iterable[str], str], str | None]
    surplus: Callable[[str, Iterable[str], str], str | None]


def record_faults(
    source: Iterable[pa.Field], target: Iterable[pa.Field], prefix: str, rules: FitRules
) -> Iterator[str]:
    """Yield the faults of a source record for a target record.

    Faults of surplus members are first. Other faults follow in the order of the target's members.
    """
    source_fields = {field.name: field for field in source}
    target_fields = list(target)
    names = dict.fromkeys(field.name for field in target_fields)
    for name in source_fields:
        if name not in names:
            yield from _yield_if_set(rules.surplus(name, names, prefix))
    for field in target_fields:
        if field.name in source_fields:
            yield from type_faults(source_fields[field.name].type, field.type, f"{prefix}{field.name}", rules)
        else:
            yield from _yield_if_set(rules.missing(field, source_fields, prefix))


def type_faults(source: pa.DataType, target: pa.DataType, path: str, rules: FitRules) -> Iterator[str]:
    """Yield the faults of a source type for a target type. A fault in a nested type contains its path."""
    if types.is_struct(source) and types.is_struct(target):
        yield from record_faults(source, target, f"{path}.", rules)
    elif types.is_list(source) and types.is_list(target):
        yield from type_faults(source.value_type, target.value_type, f"{path}[]", rules)
    elif types.is_map(source) and types.is_map(target):
        yield from type_faults(source.key_type, target.key_type, f"{path}{{key}}", rules)
        yield from type_faults(source.item_type, target.item_type, f"{path}{{}}", rules)
    else:
        yield from _yield_if_set(rules.scalar(source, target, path))


def _yield_if_set(fault: str | None) -> Iterator[str]:
    if fault is not None:
        yield fault
