"""Types that all other packages share: topic names, positions, time bounds and transaction ids."""
