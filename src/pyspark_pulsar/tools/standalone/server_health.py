"""Health checks of a server over its admin REST API; see Pulsar's "Brokers" admin API."""

import time
from collections.abc import Callable

import urllib3

from pyspark_pulsar.errors import StandaloneFailed

_POLL_SECONDS = 0.2
_OK = 200
_REQUEST_SECONDS = 10.0

# The broker returns transaction ids only after it owns this topic. A lookup of the topic assigns the topic to the
# broker.
_COORDINATOR_LOOKUP = "/lookup/v2/topic/persistent/pulsar/system/transaction_coordinator_assign-partition-0"
_HEALTH = "/admin/v2/brokers/health"


def is_healthy(
    admin_url: str, *, transactions: bool = True, timeout_seconds: float = _REQUEST_SECONDS
) -> bool:
    """Return whether the broker can write and read a message, and has a transaction coordinator."""
    paths = (_HEALTH, _COORDINATOR_LOOKUP) if transactions else (_HEALTH,)
    return all(_answers(admin_url + path, timeout_seconds) for path in paths)


def wait_until_healthy(
    admin_url: str, alive: Callable[[], bool], *, transactions: bool, deadline_seconds: float
) -> None:
    """Wait until the server is healthy.

    Args:
        admin_url: The URL of the admin REST API.
        alive: A function that returns whether the process of the server runs.
        transactions: Wait for the transaction coordinator too.
        deadline_seconds: The longest wait.

    Raises:
        StandaloneFailed: The process ended, or the wait was too long. The caller adds the end of the server's log to
            the text of the error.

    """
    deadline = time.monotonic() + deadline_seconds
    while not is_healthy(admin_url, transactions=transactions):
        if not alive():
            msg = "the Pulsar server ended while it started"
            raise StandaloneFailed(msg)
        if time.monotonic() >= deadline:
            msg = f"the Pulsar server was not healthy after {deadline_seconds:.0f} s"
            raise StandaloneFailed(msg)
        time.sleep(_POLL_SECONDS)


def _answers(url: str, timeout_seconds: float) -> bool:
    try:
        return urllib3.request("GET", url, timeout=timeout_seconds, retries=False).status == _OK
    except urllib3.exceptions.HTTPError:
        return False
