"""Comparison of a DataFrame's columns with the schema of the topic to write."""
