"""Requests to the admin REST API about clusters, brokers, bookies and tenants.

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
    """Requests about clusters, for `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def names(self) -> tuple[str, ...]:
        """Return the names of all clusters that this cluster knows, including this cluster, in alphabetical order."""
        where = "listing the clusters"
        return tuple(sorted(as_names(self._rest.get(resource("clusters"), where), where)))


@dataclass(frozen=True, slots=True)
class BrokerVersion:
    """The version of a broker, and the time by the broker's clock."""

    text: str
    """The version, such as `4.0.8`."""
    clock: datetime | None
    """The time at which the broker answered, in whole seconds. None if the answer contains no date."""


class Brokers:
    """Requests about brokers, for `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def version(self) -> BrokerVersion:
        """Return the version of the broker that answers. This request needs no permission except to connect."""
        answer = self._rest.change("GET", resource("brokers", "version"), "reading the version of Pulsar")
        try:
            clock = parsedate_to_datetime(answer.date)
        except ValueError:
            clock = None
        return BrokerVersion(answer.text.strip(), clock)


class Bookies:
    """Requests about bookies, for `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def hosts(self) -> dict[str, str]:
        """Return the hosts that operators set in racks-info, by bookie id. Only superusers can send this request."""
        where = "listing the racks of bookies"
        answer = as_object(self._rest.get(resource("bookies", "racks-info"), where) or {}, where)
        try:
            racks = [rack for group in answer.values() for rack in group.items()]
            return {str(bookie): str(known["hostname"]) for bookie, known in racks if known.get("hostname")}
        except AttributeError:
            raise ProtocolError(
                f"{where}: expected a JSON object with groups of bookies, got another object; check admin.url"
            ) from None

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all registered bookies, including read-only bookies and bookies that are down.

        A bookie is registered by its cookie in the metadata store, from its first start until an operator removes the
        cookie. Only superusers can send this request.
        """
        where = "listing the bookies"
        answer = as_object(self._rest.get(resource("bookies", "all"), where), where)
        try:
            return tuple(str(bookie["bookieId"]) for bookie in answer["bookies"])
        except (KeyError, TypeError):
            raise ProtocolError(
                f"{where}: expected a JSON object with bookies, got another object; check admin.url"
            ) from None


class Tenants:
    """Requests about tenants, for `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def names(self) -> tuple[str, ...]:
        """Return the names of the tenants that the role can list, in alphabetical order."""
        where = "listing the tenants"
        return tuple(sorted(as_names(self._rest.get(resource("tenants"), where), where)))

    def exists(self, tenant: str) -> bool:
        """Return whether the tenant exists.

        If the role is not allowed to read the tenant, the method lists the tenant's namespaces instead.
        """
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
