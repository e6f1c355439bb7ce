"""The versions of Pulsar that the local server can run."""

from collections.abc import Mapping

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.tools.standalone.distribution.artifact import ServerArtifact
from pyspark_pulsar.tools.standalone.distribution.libraries import ServerLibraries

PULSAR_SERVER = ServerArtifact(
    group="org.apache.pulsar",
    name="pulsar-server-distribution",
    version="4.0.8",
    size=245_494_718,
    sha512=(
        "65b769b10696cdfebf7fc5bcdc95dd663702e27051e616c1a13cb100e91279525"
        "be35352171befe7b0011176330aab29bd0a6c8a0f2f0646641af46d2e33cbd6"
    ),
    folder="apache-pulsar-4.0.8",
)

PULSAR_OFFLOADERS = ServerArtifact(
    group="org.apache.pulsar",
    name="pulsar-offloader-distribution",
    version="4.0.8",
    size=62_028_727,
    sha512=(
        "f0e98550b99271c02863eb91cb250b580524e198669ff14ec8341f2eadad886ab"
        "b54a0f593449350b2a60672e626bead6bd813179788bc7e938ff56a2b28e0a7"
    ),
    folder="apache-pulsar-offloaders-4.0.8",
)
"""The distribution of the plugins with which a broker offloads ledgers to tiered storage.

The broker's setting `offloadersDirectory` must be the folder `offloaders` of this distribution.
"""

_EARLIER_SERVER = ServerArtifact(
    group="org.apache.pulsar",
    name="pulsar-server-distribution",
    version="3.3.6",
    size=217_376_903,
    sha512=(
        "c8a91ebea6fdf8528ec1c00b073bfe40ac54531302536feeb3027796364f0ee9"
        "6ff71ddbdbfdb30b036fad8953a1e792b2ec1e348b00f7d4f6b75f1f75e519c0"
    ),
    folder="apache-pulsar-3.3.6",
)

_SERVERS: Mapping[str, ServerArtifact | ServerLibraries] = {
    server.version: server
    for server in (
        ServerLibraries("3.0.7", base=PULSAR_SERVER),
        _EARLIER_SERVER,
        PULSAR_SERVER,
        ServerLibraries("4.2.4", base=PULSAR_SERVER),
        ServerLibraries("5.0.0-M1", base=PULSAR_SERVER),
    )
}

SERVER_VERSIONS = tuple(_SERVERS)
"""The available versions, from the oldest to the newest."""

DEFAULT_VERSION = PULSAR_SERVER.version
NEWEST_VERSION = "4.2.4"
"""The newest version that is not a preview."""


def server_of(version: str) -> ServerArtifact | ServerLibraries:
    """Return the server of `version`. If the version is not available, OptionError names the available versions."""
    try:
        return _SERVERS[version]
    except KeyError:
        msg = f"the local server cannot be Pulsar {version}; it can be {', '.join(SERVER_VERSIONS)}."
        raise OptionError(msg) from None


def is_older(version: str, than: str) -> bool:
    """Return whether `version` is older than `than`; False if one of the two is not in `SERVER_VERSIONS`."""
    if version not in _SERVERS or than not in _SERVERS:
        return False
    return SERVER_VERSIONS.index(version) < SERVER_VERSIONS.index(than)
