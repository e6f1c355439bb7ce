"""The content log of a checkpoint: chunks of its larger files."""
