"""The simulated streaming query that reads from Pulsar, and mutations of the package."""
