"""A DataFrame's columns against the schema of the topic that they are written to."""
