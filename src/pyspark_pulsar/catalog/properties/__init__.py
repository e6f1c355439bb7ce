"""The properties of tables and namespaces, and the policies of Pulsar that they set."""
