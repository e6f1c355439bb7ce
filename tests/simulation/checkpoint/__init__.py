"""The simulated query with a checkpoint in Pulsar, and mutations of the package."""
