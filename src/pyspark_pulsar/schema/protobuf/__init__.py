"""Protobuf schemas: plans for the kernel, conversion from Arrow types, and unions of messages."""
