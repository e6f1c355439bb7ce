"""The index log of a checkpoint: its records, the state that they form, and the topic that stores them."""
