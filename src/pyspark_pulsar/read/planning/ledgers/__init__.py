"""Ledgers of topic partitions: the parts that a range touches, and the ones that retention removed. Driver only."""
