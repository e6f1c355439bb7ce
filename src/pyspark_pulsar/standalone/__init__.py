"""A real Pulsar server on this machine, for a first try, the demo and the tests.

Not for production: one broker and one bookie in one process, on the loopback interface, without
authentication, and without waiting for the disk.
"""

from pyspark_pulsar.standalone.artifact import PULSAR_OFFLOADERS, PULSAR_SERVER, ServerArtifact
from pyspark_pulsar.standalone.download import fetch_server
from pyspark_pulsar.standalone.local_pulsar import InstanceState, InstanceStatus, LocalPulsar

__all__ = [
    "PULSAR_OFFLOADERS",
    "PULSAR_SERVER",
    "InstanceState",
    "InstanceStatus",
    "LocalPulsar",
    "ServerArtifact",
    "fetch_server",
]
