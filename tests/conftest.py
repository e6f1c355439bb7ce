"""Fixtures are plugins, so that each file says what it provides."""

pytest_plugins = [
    "fixtures.fix_pulsar",
    "fixtures.fix_security",
    "fixtures.fix_spark",
    "fixtures.cluster.fix_cluster",
]
