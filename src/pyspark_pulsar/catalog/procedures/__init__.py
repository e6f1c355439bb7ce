"""`CALL catalog.system.name(...)`: what an operator has a topic do, over the admin REST API."""
