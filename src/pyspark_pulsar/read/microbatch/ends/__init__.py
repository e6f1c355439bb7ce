"""Where a stream ends by its options, and which ledgers it has read to their end. Driver only."""
