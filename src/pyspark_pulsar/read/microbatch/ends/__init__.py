"""The ends of a stream by its options, and the ledgers that it has read to their end. Driver only."""
