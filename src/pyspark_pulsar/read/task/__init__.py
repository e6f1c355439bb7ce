"""What one task does with its split: read it, go on elsewhere when a place fails, and check what was read. Executor only."""
