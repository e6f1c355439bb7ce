"""Where a split's entries come from. Every location yields the same entries for the same piece of a split."""
