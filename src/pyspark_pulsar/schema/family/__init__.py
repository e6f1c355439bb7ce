"""Schemas by which several topics are read as one table."""
