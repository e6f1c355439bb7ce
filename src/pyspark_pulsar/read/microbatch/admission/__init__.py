"""How much of what waits a micro-batch of a stream reads, and in which order. Driver only."""
