"""Reading of a split by one task: read it, fall back to another location, and check what was read. Executor only."""
