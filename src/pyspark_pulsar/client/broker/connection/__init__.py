"""A connection to one broker: socket, handshake, commands, answers and error codes."""
