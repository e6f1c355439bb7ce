"""The complete ledgers of a topic, which a round can tier, and the share of retention that ledgers have used."""
