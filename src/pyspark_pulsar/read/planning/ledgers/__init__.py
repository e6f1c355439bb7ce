"""Ledgers of topic partitions: the parts that a range touches, and the ledgers that retention removed. Driver only."""
