"""Brokers over the admin REST API. Source of the resources: `Brokers` of Pulsar's admin API v2."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from pyspark_pulsar.client.admin.paths import resource
from pyspark_pulsar.client.admin.rest import RestClient


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
