"""Asks a server over its admin REST API whether it serves; see Pulsar's "Brokers" admin API."""

import time
from collections.abc import Callable

import urllib3

from pyspark_pulsar.errors import StandaloneFailed

_POLL_SECONDS = 0.2
_OK = 200
_ASK_SECONDS = 10.0

# The broker hands out transaction ids only once it owns this topic; asking for its owner assigns it.
_COORDINATOR_LOOKUP = "/lookup/v2/topic/persistent/pulsar/system/transaction_coordinator_assign-partition-0"
_HEALTH = "/admin/v2/brokers/health"


def is_healthy(admin_url: str, *, transactions: bool = True, timeout_seconds: float = _ASK_SECONDS) -> bool:
    """Whether the broker can write and read back a message, and has a transaction coordinator."""
    paths = (_HEALTH, _COORDINATOR_LOOKUP) if transactions else (_HEALTH,)
    return all(_answers(admin_url + path, timeout_seconds) for path in paths)


def wait_until_healthy(
    admin_url: str, alive: Callable[[], bool], *, transactions: bool, deadline_seconds: float
) -> None:
    """Return once the server is healthy.

    Raises StandaloneFailed as soon as `alive` says that the process ended, or after `deadline_seconds`;
    the message lacks the log, which the caller knows.
    """
    give_up = time.monotonic() + deadline_seconds
    while not is_healthy(admin_url, transactions=transactions):
        if not alive():
            msg = "the Pulsar server ended while it started"
            raise StandaloneFailed(msg)
        if time.monotonic() >= give_up:
            msg = f"the Pulsar server was not healthy after {deadline_seconds:.0f} s"
            raise StandaloneFailed(msg)
        time.sleep(_POLL_SECONDS)


def _answers(url: str, timeout_seconds: float) -> bool:
    try:
        return urllib3.request("GET", url, timeout=timeout_seconds, retries=False).status == _OK
    except urllib3.exceptions.HTTPError:
        return False
