"""The content log of a checkpoint, which contains the chunks of larger files."""
