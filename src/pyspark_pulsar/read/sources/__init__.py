"""Where a split's entries come from: a file for each kind of `read.location.Location`, and what they share."""
