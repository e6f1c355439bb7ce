"""Tiered storage: the location of a topic's offloaded ledgers, and reads of the stored bytes."""
