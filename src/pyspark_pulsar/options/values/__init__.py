"""Types for the values of options about topics, positions and times.

The driver parses them once. Their errors name the option.
"""
