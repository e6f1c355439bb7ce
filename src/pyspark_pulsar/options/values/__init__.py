"""What options about topics, positions and times mean, as types: parsed once, with the error that names the option."""
