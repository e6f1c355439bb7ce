"""The ends of a stream by its options, and the ledgers that it has completely read. Driver only."""
