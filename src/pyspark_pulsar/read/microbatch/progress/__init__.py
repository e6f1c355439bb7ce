"""A stream's work besides reading: its subscription, its lag, and a check of retention. Driver only."""
