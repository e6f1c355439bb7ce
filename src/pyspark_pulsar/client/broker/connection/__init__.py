"""One connection to a broker: socket, handshake, commands, answers and error codes."""
