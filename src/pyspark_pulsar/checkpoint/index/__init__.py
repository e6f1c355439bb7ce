"""The index log of a checkpoint: its records, the state that the records form, and the topic of the records."""
