"""A Spark session that knows Pulsar: its settings, and the history of topics together with what follows."""
