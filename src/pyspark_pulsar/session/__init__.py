"""A Spark session that knows Pulsar: its settings, and the past and the present of a topic in one query."""
