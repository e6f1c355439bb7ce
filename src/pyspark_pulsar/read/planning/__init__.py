"""From bounds to splits: ledgers, where each is read from, and how they are packed. Driver only."""
