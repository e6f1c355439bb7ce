"""Every topic and every system table has one name as a table, and that name leads back to it."""

from hypothesis import given, strategies as st
from property.topic_name_strategies import LOCALS, NAME_PARTS, TABLE_PIECES as PIECES

from pyspark_pulsar.catalog.names import SYSTEM_TABLES, Table, parse_namespace, parse_table
from pyspark_pulsar.model.topic import Namespace, TopicName

TABLES = st.builds(
    Table,
    st.builds(
        TopicName,
        st.sampled_from(["persistent", "non-persistent"]),
        st.builds(Namespace, NAME_PARTS, NAME_PARTS),
        LOCALS,
    ),
    st.none() | st.sampled_from(SYSTEM_TABLES),
)


@given(TABLES, st.booleans())
def test_a_name_leads_back(table: Table, apart: bool) -> None:
    namespace = table.topic.namespace
    parts = [namespace.tenant, namespace.name] if apart else [str(namespace)]
    assert parse_table(parts, table.name) == table
    assert parse_namespace(parts) == namespace


@given(st.lists(PIECES, min_size=1).map("".join))
def test_a_table_has_one_name(name: str) -> None:
    try:
        table = parse_table(["a/b"], name)
    except ValueError:
        return
    assert table.name == name
