"""The ends of a stream that its options set, and the ledgers that the stream has completely read. Driver only."""
