"""Every option once: its key, default, type and meaning. Parsed once, at the edge, on the driver, into numbers, texts
and the types of `options.values`; what can be checked only with the topics at hand is checked where they are known.

Spark hands options over as strings with case-insensitive keys. An option that is unknown, given twice
under two names, or malformed is an `OptionError`; a near miss gets a suggestion. The tables in
docs/options.md are generated from the fields of the classes here (`OptionField.doc`).
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
