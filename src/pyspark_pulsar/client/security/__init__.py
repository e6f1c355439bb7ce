"""TLS, credentials and tokens for connections to brokers, the admin REST API and bookies."""
