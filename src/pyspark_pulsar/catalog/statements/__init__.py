"""The SQL statements that create, alter, drop and describe namespaces and tables."""
