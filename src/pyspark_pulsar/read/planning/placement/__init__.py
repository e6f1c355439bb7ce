"""Where each range is read from. Driver only."""
