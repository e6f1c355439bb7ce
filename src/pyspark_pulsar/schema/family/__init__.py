"""The one schema by which several topics are read as one table."""
