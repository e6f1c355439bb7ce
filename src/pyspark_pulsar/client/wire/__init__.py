"""Commands of the binary protocol: `commands.proto` is the source, `commands_pb2` is generated from it."""
