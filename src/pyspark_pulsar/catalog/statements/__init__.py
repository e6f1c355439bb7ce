"""What SQL statements do to namespaces and tables: create, alter, drop, describe."""
