"""The tasks of a stream besides reading: its subscription, its lag, and a check of retention. Driver only."""
