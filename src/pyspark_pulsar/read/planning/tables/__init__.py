"""What topics' tables hold of a range. Driver only."""
