"""The complete ledgers of a topic, which a round may tier, and the passed share of their retention."""
