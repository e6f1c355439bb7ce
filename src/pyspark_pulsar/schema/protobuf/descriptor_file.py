"""The Protobuf descriptors that a user gives as a file. Read on the driver, once for each plan."""

from __future__ import annotations

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ProtobufOptions
from pyspark_pulsar.options.values.regular_file import read_regular_file
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile


def read_descriptor_file(options: ProtobufOptions) -> DescriptorFile | None:
    """What the options `protobufDescriptorFile` and `protobufMessage` name; None without them.

    Raises OptionError for a file that cannot be read. What is in it is looked at later.
    """
    path, message = options.protobuf_descriptor_file, options.protobuf_message
    if path is None or message is None:
        return None
    try:
        return DescriptorFile(read_regular_file(path), message, path)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"option 'protobufDescriptorFile': expected a file that the driver can read, got {path!r} "
            f"({error}); give the path of what protoc --descriptor_set_out wrote"
        ) from None
