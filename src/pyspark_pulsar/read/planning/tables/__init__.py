"""Topics' tables: the part of a range that is in a table. Driver only."""
