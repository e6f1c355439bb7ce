"""SQL statements for namespaces and tables: create, alter, drop, describe."""
