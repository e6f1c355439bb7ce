"""Clusters, brokers, bookies and tenants over the admin REST API.

Source of the resources: `Clusters`, `Brokers`, `Bookies` and `Tenants` of Pulsar's admin API v2.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from pyspark_pulsar.client.admin.answers import as_names, as_object
from pyspark_pulsar.client.admin.paths import resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.errors import PermissionDenied, ProtocolError, TopicNotFoundError


class Clusters:
    """See `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def names(self) -> tuple[str, ...]:
        """Of all that the cluster knows, itself among them."""
        where = "listing the clusters"
        return tuple(sorted(as_names(self._rest.get(resource("clusters"), where), where)))


@dataclass(frozen=True, slots=True)
class BrokerVersion:
    """What a broker says of itself."""

    text: str
    """Such as 4.0.8."""
    clock: datetime | None
    """Its time when it answered, to the second; None where it does not say."""


class Brokers:
    """See `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def version(self) -> BrokerVersion:
        """Of the broker that answers. Whoever is let in may ask."""
        answer = self._rest.change("GET", resource("brokers", "version"), "asking for the version of Pulsar")
        try:
            clock = parsedate_to_datetime(answer.date)
        except ValueError:
            clock = None
        return BrokerVersion(answer.text.strip(), clock)


class Bookies:
    """See `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def hosts(self) -> dict[str, str]:
        """What operators wrote down as the hosts of bookies, by id, where they did. For superusers only."""
        where = "listing the racks of bookies"
        answer = as_object(self._rest.get(resource("bookies", "racks-info"), where) or {}, where)
        try:
            racks = [rack for group in answer.values() for rack in group.items()]
            return {str(bookie): str(known["hostname"]) for bookie, known in racks if known.get("hostname")}
        except AttributeError:
            raise ProtocolError(
                f"{where}: expected a JSON object with groups of bookies, got another"
            ) from None

    def ids(self) -> tuple[str, ...]:
        """Of the bookies that are up. For superusers only."""
        where = "listing the bookies"
        answer = as_object(self._rest.get(resource("bookies", "all"), where), where)
        try:
            return tuple(str(bookie["bookieId"]) for bookie in answer["bookies"])
        except (KeyError, TypeError):
            raise ProtocolError(f"{where}: expected a JSON object with bookies, got another") from None


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
