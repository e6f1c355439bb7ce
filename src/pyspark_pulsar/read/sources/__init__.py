"""The sources of a split's entries or rows: one module per kind of `read.location.Location`, and shared modules."""
