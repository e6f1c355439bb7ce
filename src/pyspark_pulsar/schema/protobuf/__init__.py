"""Protobuf messages: to plans for the kernel, from Arrow types, and the union of several."""
