"""Access to the file of Protobuf descriptors that the options name. The driver reads the file once for each query."""

from __future__ import annotations

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ProtobufOptions
from pyspark_pulsar.options.values.regular_file import read_regular_file
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile


def read_descriptor_file(options: ProtobufOptions) -> DescriptorFile | None:
    """Return the file of the options `protobufDescriptorFile` and `protobufMessage`, or None without these options.

    This function does not check the content of the file.

    Raises:
        OptionError: If the file cannot be read.

    """
    path, message = options.protobuf_descriptor_file, options.protobuf_message
    if path is None or message is None:
        return None
    try:
        return DescriptorFile(read_regular_file(path), message, path)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"option 'protobufDescriptorFile': expected a file that the driver can read, got {path!r} "
            f"({error}); set the path of a file that protoc --descriptor_set_out wrote"
        ) from None
