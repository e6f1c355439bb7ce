"""Avro records: to Arrow types, from Arrow types, and the union of several."""
