"""Splits: cutting and packing ranges that have a location into splits and tasks. Driver only."""
