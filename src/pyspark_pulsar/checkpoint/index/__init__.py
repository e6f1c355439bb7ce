"""The index log of a checkpoint: what its records are, the state that they make, and the topic that they lie in."""
