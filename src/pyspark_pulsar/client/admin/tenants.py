"""Tenants over the admin REST API. Source of the resources: `Tenants` of Pulsar's admin API v2."""

from __future__ import annotations

from pyspark_pulsar.client.admin.answers import as_names
from pyspark_pulsar.client.admin.paths import resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.errors import PermissionDenied, TopicNotFoundError


class Tenants:
    """See `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def names(self) -> tuple[str, ...]:
        """Those that the role may list."""
        where = "listing the tenants"
        return tuple(sorted(as_names(self._rest.get(resource("tenants"), where), where)))

    def exists(self, tenant: str) -> bool:
        """Whether the tenant is there; a role that may not look at tenants asks for its namespaces."""
        for kind in ("tenants", "namespaces"):
            try:
                self._rest.get(resource(kind, tenant), f"looking for tenant {tenant}")
            except TopicNotFoundError:
                return False
            except PermissionDenied:
                if kind == "namespaces":
                    raise
            else:
                break
        return True
