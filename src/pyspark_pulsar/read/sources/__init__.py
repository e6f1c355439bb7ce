"""Sources of a split's entries: a module per kind of `read.location.Location`, and shared modules."""
