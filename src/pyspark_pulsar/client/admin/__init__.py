"""Client of the admin REST API, with a class for each subject, as in Pulsar's own `PulsarAdmin`."""
