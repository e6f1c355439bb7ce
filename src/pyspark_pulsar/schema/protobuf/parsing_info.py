"""Plans of PROTOBUF schemas, which describe only the top level of a message.

The data of a PROTOBUF schema is an Avro schema of the Java class, without field numbers. The property
`__PARSING_INFO__` is a JSON list of the class's own fields: `number`, `name`, `type` (Java's `FieldDescriptor.Type`),
`label` (such as `LABEL_OPTIONAL`) and an unused `definition`. The schema does not describe nested types, so nested
messages are read as bytes, and enums as numbers. If the user sets a descriptor file, the file describes the types of
all fields.

The schema does not specify which fields have presence. An absent scalar is read as its default in the Avro schema,
because Java's getter also returns this default. The number of an enum's default is unknown, so an absent enum is read
as null.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.protobuf.plan import SCALARS, PlanField, PlanMessage, ProtobufPlan

PARSING_INFO: Final = "__PARSING_INFO__"

_SHAPES: Final = {"LABEL_OPTIONAL": "optional", "LABEL_REQUIRED": "required", "LABEL_REPEATED": "repeated"}
_KINDS: Final = frozenset((*SCALARS, "enum", "message"))
_UNSIGNED_BITS: Final = {"uint32": 32, "fixed32": 32, "uint64": 64, "fixed64": 64}


def parsing_info_plan(info: SchemaInfo, *, where: str) -> ProtobufPlan:
    """Return the plan of a PROTOBUF schema's top level. Raise SchemaError if the schema is malformed."""
    text = dict(info.properties).get(PARSING_INFO)
    if text is None:
        raise SchemaError(
            f"{where}: expected the property {PARSING_INFO}, which Java clients register, got none; set the "
            "options protobufDescriptorFile and protobufMessage"
        )
    try:
        avro = json.loads(info.text)
        defaults = {field["name"]: field.get("default") for field in avro["fields"]}
        fields = tuple(_field(field, defaults) for field in _listed(text))
        return ProtobufPlan((PlanMessage(str(avro.get("name", info.name)), fields),))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SchemaError(
            f"{where}: expected a list of fields with number, name, type and label in {PARSING_INFO}, and an Avro "
            f"record with these fields, got another form ({error!r}); set protobufDescriptorFile and protobufMessage"
        ) from None


def _listed(text: str) -> list[dict[str, Any]]:
    fields = json.loads(text)
    if not isinstance(fields, list):
        raise TypeError(text)
    return fields


def _field(parsed: dict[str, Any], defaults: dict[str, Any]) -> PlanField:
    name, kind = str(parsed["name"]), str(parsed["type"]).lower()
    if kind not in _KINDS:
        raise ValueError(f"field {name} of type {parsed['type']}")
    shape = _SHAPES[parsed["label"]]
    absent = _default(defaults.get(name), kind) if shape == "optional" else None
    return PlanField(name, int(parsed["number"]), kind, shape, absent=absent)


def _default(value: Any, kind: str) -> str | None:
    if value is None or kind in ("enum", "message"):
        return None
    if kind in _UNSIGNED_BITS:
        # Java has no unsigned integers, so a default in the upper half of the range is a negative number.
        return str(int(value) % 2 ** _UNSIGNED_BITS[kind])
    if kind == "bytes":
        return base64.b64encode(str(value).encode("latin-1", "replace")).decode()
    return str(value).lower() if kind in ("bool", "double", "float") else str(value)
