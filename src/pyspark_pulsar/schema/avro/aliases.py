"""Detection of renamed fields in several Avro records, by their aliases."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pulsar.schema.avro.tree import RecordType


def one_name_for_each(records: Sequence[RecordType], *, aliases_count: bool) -> dict[str, str]:
    """Return the common name of each renamed field, by each of the field's other names.

    The common name is the name of a field that has other names as aliases. If several names qualify, a name that is not
    an alias of another field has precedence. Two fields of one record never get a common name.

    Args:
        records: The records.
        aliases_count: Whether aliases rename fields. If false, the result is empty. Use False for JSON, because JSON
            identifies fields by name.

    """
    together: dict[str, set[str]] = {}
    if not aliases_count:
        return {}
    beside = [{member.name for member in record.fields} for record in records]
    present = set().union(*beside)
    for record in records:
        for member in record.fields:
            for alias in member.aliases:
                one, other = (together.get(name, {name}) for name in (member.name, alias))
                joined = one | other
                if alias not in present or any(len(names & joined) > 1 for names in beside):
                    continue
                together.update(dict.fromkeys(joined, joined))
    declared = [member for record in records for member in record.fields if member.name in together]
    earlier = {alias for member in declared for alias in member.aliases}
    # If two names are aliases of each other, the name that is declared first becomes the common name.
    latest = sorted(
        (member for member in declared if member.aliases), key=lambda member: member.name in earlier
    )
    names = {}
    for group in {frozenset(group) for group in together.values()}:
        chosen = next(
            member.name for member in latest if not group.isdisjoint(member.aliases) and member.name in group
        )
        names.update({name: chosen for name in group if name != chosen})
    return names
