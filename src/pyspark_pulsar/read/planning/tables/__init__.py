"""Topics' tables: the part of a range that they hold. Driver only."""
