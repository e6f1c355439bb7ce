"""Conversion between registry schemas and columns, as Arrow and Spark types, in both directions."""
