"""The properties of tables and namespaces, and the Pulsar policies that these properties set."""
