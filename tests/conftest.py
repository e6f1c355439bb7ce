"""Fixtures as plugins, so that each file names the fixtures that it provides."""

from hypothesis import settings

# A test checks the result and not its duration, because a busy machine is no fault.
settings.register_profile("untimed", deadline=None, print_blob=True)
settings.load_profile("untimed")

pytest_plugins = [
    "fixtures.fix_pulsar",
    "fixtures.fix_seed",
    "fixtures.fix_security",
    "fixtures.fix_spark",
    "fixtures.fix_tables",
    "fixtures.cluster.fix_cluster",
]
