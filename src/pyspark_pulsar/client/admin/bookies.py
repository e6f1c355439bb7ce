"""Bookies over the admin REST API. Source of the resources: `Bookies` of Pulsar's admin API v2."""

from __future__ import annotations

from pyspark_pulsar.client.admin.answers import as_object
from pyspark_pulsar.client.admin.paths import resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.errors import ProtocolError


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
