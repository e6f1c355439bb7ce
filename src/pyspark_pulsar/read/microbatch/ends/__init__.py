"""The ends of a stream that its options set, and the ledgers that it has completely read. Driver only."""
