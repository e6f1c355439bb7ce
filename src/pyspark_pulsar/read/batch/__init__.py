"""Batch reads (`spark.read`): one bounded range of each topic partition. Driver only."""
