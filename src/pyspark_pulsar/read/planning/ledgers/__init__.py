"""The ledgers of a topic partition, the parts of them that a range touches, and what retention removed. Driver only."""
