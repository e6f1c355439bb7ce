"""A real Pulsar server on this machine, for a first try, the demo and the tests.

The server is not for production. The server has one broker and one bookie in one process, listens on the loopback
interface, and has no authentication. The server can confirm a message before its data is on the disk.
"""

from pyspark_pulsar.tools.standalone.distribution.artifact import ServerArtifact
from pyspark_pulsar.tools.standalone.distribution.download import fetch_server
from pyspark_pulsar.tools.standalone.distribution.libraries import ServerLibraries
from pyspark_pulsar.tools.standalone.distribution.versions import (
    DEFAULT_VERSION,
    NEWEST_VERSION,
    PULSAR_OFFLOADERS,
    PULSAR_SERVER,
    SERVER_VERSIONS,
    server_of,
)
from pyspark_pulsar.tools.standalone.local_pulsar import InstanceState, InstanceStatus, LocalPulsar

__all__ = [
    "DEFAULT_VERSION",
    "NEWEST_VERSION",
    "PULSAR_OFFLOADERS",
    "PULSAR_SERVER",
    "SERVER_VERSIONS",
    "InstanceState",
    "InstanceStatus",
    "LocalPulsar",
    "ServerArtifact",
    "ServerLibraries",
    "fetch_server",
    "server_of",
]
