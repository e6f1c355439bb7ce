"""Splits: how located ranges are cut and packed into splits and tasks. Driver only."""
