import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType


def test_wire_numbers_are_those_of_pulsar_api_proto() -> None:
    assert {kind.name: kind.wire_number for kind in SchemaType if kind.value >= 0} == {
        kind.name: kind.value for kind in SchemaType if kind.value >= 0
    }
    assert SchemaType.BYTES.wire_number == 0
    assert SchemaType.AUTO_CONSUME.wire_number == 21
    assert SchemaType.from_wire(21) is SchemaType.AUTO_CONSUME
    assert SchemaType.from_wire(4) is SchemaType.AVRO


@pytest.mark.parametrize("number", [-1, 22, 99])
def test_unknown_wire_number_is_refused(number: int) -> None:
    with pytest.raises(SchemaError, match=f"got {number}"):
        SchemaType.from_wire(number)


def test_rest_and_wire_give_equal_schemas() -> None:
    document = '{"type":"record","name":"R","fields":[]}'
    answer = {
        "version": 3,
        "type": "AVRO",
        "timestamp": 1,
        "data": document,
        "properties": {"b": "2", "a": "1"},
    }
    wire = SchemaInfo.from_wire(
        name="events",
        type_number=4,
        schema_data=document.encode(),
        properties=[("b", "2"), ("a", "1")],
        version=b"\0\0\0\0\0\0\0\3",
    )
    assert SchemaInfo.from_rest(name="events", answer=answer) == wire
    assert wire.properties == (("a", "1"), ("b", "2"))
    assert wire.text == document


def test_rest_type_that_is_unknown_is_named() -> None:
    with pytest.raises(SchemaError, match="THRIFT"):
        SchemaInfo.from_rest(name="t", answer={"type": "THRIFT", "data": "", "version": 0})


def test_rest_answer_of_another_shape_is_refused() -> None:
    with pytest.raises(SchemaError, match="admin URL"):
        SchemaInfo.from_rest(name="t", answer={"reason": "not found"})


def test_document_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(SchemaError, match="UTF-8"):
        _ = SchemaInfo("t", SchemaType.JSON, b"\xff").text
