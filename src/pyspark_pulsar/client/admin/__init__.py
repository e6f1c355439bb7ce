"""A client of Pulsar's admin REST API, with one class for each subject like Pulsar's own `PulsarAdmin`."""
