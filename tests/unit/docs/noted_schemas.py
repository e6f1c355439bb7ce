"""Schemas and Spark types from the notation of docs/schema-mapping.md, without the product's own code."""

from __future__ import annotations

import itertools
import json
from typing import Any

from pyspark.sql import types as spark
from unit.docs.noted_protobuf import FIELD
from unit.docs.type_notation import Noted

from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

_SPARK = {
    "void": spark.NullType(),
    "binary": spark.BinaryType(),
    "string": spark.StringType(),
    "boolean": spark.BooleanType(),
    "tinyint": spark.ByteType(),
    "smallint": spark.ShortType(),
    "int": spark.IntegerType(),
    "bigint": spark.LongType(),
    "float": spark.FloatType(),
    "double": spark.DoubleType(),
    "date": spark.DateType(),
    "time": spark.TimeType(),
    "timestamp": spark.TimestampType(),
    "timestamp_ntz": spark.TimestampNTZType(),
    "interval day to second": spark.DayTimeIntervalType(),
    "interval year to month": spark.YearMonthIntervalType(),
    "variant": spark.VariantType(),
    "geometry": spark.GeometryType("ANY"),
    "geography": spark.GeographyType("ANY"),
}


def spark_type(node: Noted, *, nullable: bool = True) -> spark.DataType:
    """Return the Spark type; `nullable` decides whether values inside it may be null."""
    members = [spark_type(member, nullable=nullable) for member in node.members]
    if node.name == "array":
        return spark.ArrayType(members[0], nullable)
    if node.name == "map":
        return spark.MapType(members[0], members[1], nullable)
    if node.name == "struct":
        pairs = zip(node.names, members, strict=True)
        return spark.StructType([spark.StructField(name, kind, nullable) for name, kind in pairs])
    if node.name == "decimal":
        return spark.DecimalType(*node.numbers)
    return _SPARK[node.name]


def avro_type(node: Noted, *, nullable: bool = False, numbers: Any = None) -> Any:
    """Return the Avro document of a type; `nullable` makes the values inside it nullable."""
    numbers = numbers or itertools.count()

    def within(member: Noted) -> Any:
        found = avro_type(member, nullable=nullable, numbers=numbers)
        return ["null", found] if nullable else found

    if not node.words:
        return [avro_type(member, numbers=numbers) for member in node.members]
    if node.base is not None:
        base = avro_type(node.base, numbers=numbers)
        logical = {**(base if isinstance(base, dict) else {"type": base}), "logicalType": node.name}
        return logical | dict(zip(("precision", "scale"), node.numbers, strict=False))
    if node.name == "enum":
        return {"type": "enum", "name": f"Enum{next(numbers)}", "symbols": ["A", "B"]}
    if node.name == "fixed":
        return {"type": "fixed", "name": f"Fixed{next(numbers)}", "size": node.numbers[0]}
    if node.name == "array":
        return {"type": "array", "items": within(node.members[0])}
    if node.name == "map":
        return {"type": "map", "values": within(node.members[0])}
    if node.name == "record":
        name = f"Record{next(numbers)}"
        itself = Noted((name,))
        pairs = zip(node.names, (itself if m.name == "itself" else m for m in node.members), strict=True)
        default = {"default": None} if nullable else {}
        fields = [{"name": key, "type": within(member), **default} for key, member in pairs]
        return {"type": "record", "name": name, "fields": fields}
    return node.name


def avro_info(kind: SchemaType, node: Noted, *, whole: bool = False) -> SchemaInfo:
    """A record with the one field `FIELD`; `whole` when the type is the record itself."""
    document = {"type": "record", "name": "Row", "fields": [{"name": FIELD, "type": avro_type(node)}]}
    return SchemaInfo("Row", kind, json.dumps(avro_type(node) if whole else document).encode())


def protobuf_info(node: Noted) -> SchemaInfo:
    """Return the type as Java's PROTOBUF schemas hold it: the top level as a list, beside an Avro rendering."""
    label = "LABEL_REPEATED" if node.before == "repeated" else "LABEL_OPTIONAL"
    parsed = [{"number": 1, "name": FIELD, "type": node.name.upper(), "label": label, "definition": None}]
    avro = {"type": "record", "name": "Row", "fields": [{"name": FIELD, "type": "string"}]}
    return SchemaInfo(
        "Row", SchemaType.PROTOBUF, json.dumps(avro).encode(), (("__PARSING_INFO__", json.dumps(parsed)),)
    )
