"""Procedures for `CALL catalog.system.name(...)`: operations on a topic over the admin REST API."""
