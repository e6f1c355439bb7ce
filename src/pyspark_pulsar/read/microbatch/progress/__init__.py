"""What a stream does beside reading: its subscription, its lag, and whether retention is long enough. Driver only."""
