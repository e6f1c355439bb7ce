"""Values that all other packages share: names of topics, positions, bounds in time, ids of transactions."""
