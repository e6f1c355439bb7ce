"""Types for the values of options about topics, positions and times.

The driver parses each value once. An error about a value names the option.
"""
