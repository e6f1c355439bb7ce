"""Bounds of a read: its topics, their schema, and the start and end in each topic partition. Driver only."""
