"""The complete ledgers of a topic, which a round may tier, and the used share of their retention."""
