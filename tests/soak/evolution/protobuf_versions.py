"""Random versions of a Protobuf file, and messages that the official library encodes by them."""

from __future__ import annotations

import math
import random
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message as ProtobufMessage
from integration.raw_producer import proto
from soak.evolution.protobuf_changes import ProtobufChanges
from soak.evolution.steps import Message, Version

_TEXTS = ["", "a", "ä", "long " * 9, "7", "\U0001f40d"]
_FRACTIONS = [0.0, -0.0, 0.5, 2.0**100, math.inf, math.nan]
_FIRST_UNKNOWN = 12


class ProtobufVersions:
    """The versions of one topic, and messages of each of them."""

    def __init__(self, rng: random.Random, count: int) -> None:
        self._rng = rng
        changes = ProtobufChanges(rng)
        file = changes.first()
        self._files = [file]
        self.versions = [Version(file.document(0), str(file), ())]
        while len(self.versions) < count:
            file, words = changes.next_version(file)
            self._files.append(file)
            self.versions.append(Version(file.document(len(self.versions)), str(file), words))

    def message(self, version: int) -> Message:
        """Draw a message by a version, sometimes with a field that the version does not have."""
        value = self._files[version].new_message()
        self._fill(value, 3)
        payload, text = value.SerializeToString(), text_format.MessageToString(value, as_one_line=True)
        if self._rng.random() < 0.1:
            number = self._rng.choice([_FIRST_UNKNOWN, _FIRST_UNKNOWN + 1])
            payload += proto((number, self._rng.choice([1, b"ab"])))
            text += f" and field {number}"
        return Message(payload, f"{text} = {payload.hex()}")

    def _fill(self, value: ProtobufMessage, depth: int) -> None:
        for each in value.DESCRIPTOR.fields:
            if self._rng.random() < 0.25:
                continue
            target = getattr(value, each.name)
            if each.message_type is not None and each.message_type.GetOptions().map_entry:
                self._fill_map(target, each.message_type.fields_by_name["value"], depth)
            elif each.is_repeated:
                for _ in range(self._rng.randrange(3)):
                    if each.message_type is not None:
                        self._fill(target.add(), depth - 1)
                    else:
                        target.append(self._scalar(each))
            elif each.message_type is not None:
                target.SetInParent()
                if depth:
                    self._fill(target, depth - 1)
            else:
                setattr(value, each.name, self._scalar(each))

    def _fill_map(self, target: Any, value: FieldDescriptor, depth: int) -> None:
        for key in self._rng.sample(["", "a", "k.1", "ä"], self._rng.randrange(3)):
            if value.message_type is not None:
                self._fill(target[key], depth - 1)
            else:
                target[key] = self._scalar(value)

    def _scalar(self, each: FieldDescriptor) -> Any:
        rng = self._rng
        if each.enum_type is not None:
            numbers = [value.number for value in each.enum_type.values]
            return rng.choice(numbers if each.enum_type.is_closed else [*numbers, *numbers, 5, -100])
        match each.cpp_type:
            case FieldDescriptor.CPPTYPE_BOOL:
                return rng.random() < 0.5
            case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
                return rng.choice(_FRACTIONS)
            case FieldDescriptor.CPPTYPE_STRING:
                text = rng.choice(_TEXTS)
                return text if each.type == FieldDescriptor.TYPE_STRING else text.encode()
            case FieldDescriptor.CPPTYPE_INT32 | FieldDescriptor.CPPTYPE_INT64:
                return rng.choice([0, 1, 7, -1, 2**31 - 1, -(2**31)])
        return rng.choice([0, 1, 7, 2**32 - 1])
