"""The admin REST API: one client, and what it asks and changes by subject, as Pulsar's own `PulsarAdmin`."""
