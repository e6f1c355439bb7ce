"""Planning of a read on the driver: find the ledgers of each range, choose where to read them, and pack splits."""
