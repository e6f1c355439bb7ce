"""The procedures of `CALL catalog.system.name(...)`, which operate on a topic over the admin REST API."""
