"""Reading of a split by one task, with fallbacks to other locations and a check for missing rows. Executor only."""
