"""The exactly-once sink in the simulated world."""
