"""Clusters over the admin REST API. Source of the resources: `Clusters` of Pulsar's admin API v2."""

from __future__ import annotations

from pyspark_pulsar.client.admin.answers import as_names
from pyspark_pulsar.client.admin.paths import resource
from pyspark_pulsar.client.admin.rest import RestClient


class Clusters:
    """See `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def names(self) -> tuple[str, ...]:
        """Of all that the cluster knows, itself among them."""
        where = "listing the clusters"
        return tuple(sorted(as_names(self._rest.get(resource("clusters"), where), where)))
