"""From located ranges to splits. Driver only."""
