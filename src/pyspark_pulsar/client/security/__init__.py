"""What connections need, to brokers, the admin REST API and bookies: TLS, credentials, tokens."""
