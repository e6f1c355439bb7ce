"""Which fields of several Avro records are one, though they were renamed: by their aliases."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pulsar.schema.avro.tree import RecordType


def one_name_for_each(records: Sequence[RecordType], *, aliases_count: bool) -> dict[str, str]:
    """Names of fields that go by another one, to that one: the name that has others as aliases and is none itself.

    Fields that one record has beside each other are never one. Without `aliases_count` (JSON) no field was renamed.
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
    former = {alias for member in declared for alias in member.aliases}
    # Where each calls the other its former name, the first that does has its way.
    latest = sorted(
        (member for member in declared if member.aliases), key=lambda member: member.name in former
    )
    names = {}
    for group in {frozenset(group) for group in together.values()}:
        chosen = next(
            member.name for member in latest if not group.isdisjoint(member.aliases) and member.name in group
        )
        names.update({name: chosen for name in group if name != chosen})
    return names
