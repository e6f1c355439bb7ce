"""What one task does with its split: read it, fall back to another place, check what was read. Executor only."""
