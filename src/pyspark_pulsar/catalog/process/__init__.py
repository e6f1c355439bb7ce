"""The catalog's process: the calls that the JVM makes, and the service that answers the calls."""
