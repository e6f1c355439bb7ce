"""Complete ledgers of a topic, which a round may tier, and how close they are to the end of retention."""
