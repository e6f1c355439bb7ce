"""The admin REST API: ledgers, topics, policies, schemas, bookies."""
