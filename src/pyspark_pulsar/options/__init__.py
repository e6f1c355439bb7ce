"""Definitions of all options: key, type, default and meaning.

The driver parses options once, before it connects, into numbers, texts and the types of `options.values`. Checks that
need the topics run later, when the topics are known.

Spark passes options as strings with case-insensitive keys. An unknown option, an option under two names, and a
malformed value raise `OptionError`. If an unknown option resembles an option, the error suggests this option.
`scripts/generate_docs.py` writes docs/options.md from the fields of these classes (`OptionField.doc`).
"""

from pyspark_pulsar.options.connection import ConnectionOptions
from pyspark_pulsar.options.fields import OptionField, option_fields, secret_keys
from pyspark_pulsar.options.parse import parse_options
from pyspark_pulsar.options.protobuf import ProtobufOptions
from pyspark_pulsar.options.read import ReadOptions
from pyspark_pulsar.options.security import SecurityOptions
from pyspark_pulsar.options.write import WriteOptions

__all__ = [
    "ConnectionOptions",
    "OptionField",
    "ProtobufOptions",
    "ReadOptions",
    "SecurityOptions",
    "WriteOptions",
    "option_fields",
    "parse_options",
    "secret_keys",
]
