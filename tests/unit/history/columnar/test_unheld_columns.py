"""Records in a table about topics with fields that no column holds."""

import json

import pyarrow as pa
from unit.schema.protobuf.test_recursive import traces_info
from unit.schema.test_unheld_fields import ANY, NODE, ORDER, schema_of

from pyspark_pulsar.history.columnar.columns.absent_values import absent_columns
from pyspark_pulsar.history.columnar.columns.resolution import resolve
from pyspark_pulsar.schema.read_schema import resolve_read_schema


def test_columns_that_older_files_lack() -> None:
    for schema in (
        *(schema_of(document, depth=depth) for document in (ANY, NODE, ORDER) for depth in (1, 3)),
        resolve_read_schema(traces_info(), topic="t"),
    ):
        absent = absent_columns(schema.value)
        assert set(absent) == set(schema.value_columns.names)
    [members] = [one.members for one in absent_columns(schema_of(ANY).value).values()]
    assert set(members) == {"member0", "member4"}


def test_a_renamed_field_beside_a_branch_that_is_left_out() -> None:
    inner = {"type": "record", "name": "I", "fields": [{"name": "new", "aliases": ["old"], "type": "int"}]}
    text = json.dumps(ANY).replace('"int"', json.dumps(inner))
    schema = schema_of(json.loads(text))
    before = pa.struct([("member0", pa.string()), ("member4", pa.struct([("old", pa.int32())]))])
    former = schema_of(json.loads(text.replace('"name": "new", "aliases": ["old"]', '"name": "old"')))
    assert resolve(former.value, pa.schema([("any", before)]), schema.value).columns is None
