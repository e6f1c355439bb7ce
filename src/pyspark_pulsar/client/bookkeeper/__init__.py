"""A reader of ledgers on bookies: the bookies that store an entry, requests, and other bookies after a failure."""
