"""What a broker's error codes mean for us: who has to act, and whether asking again can help.

Codes: `ServerError` of the protocol specification.
"""

from __future__ import annotations

import re

from pyspark_pulsar.errors import (
    ConnectionFailed,
    OptionError,
    PermissionDenied,
    ProtocolError,
    PulsarError,
    SchemaError,
    SendError,
    SubscriptionBusy,
    TopicNameError,
    TopicNotFoundError,
    TransactionEnded,
    WriterFenced,
)

AUTHENTICATION_ERROR = 3
UNKNOWN_ERROR = 0
_PRODUCER_BUSY = 16

_NAMES = {
    UNKNOWN_ERROR: "UnknownError",
    1: "MetadataError",
    2: "PersistenceError",
    AUTHENTICATION_ERROR: "AuthenticationError",
    4: "AuthorizationError",
    5: "ConsumerBusy",
    6: "ServiceNotReady",
    7: "ProducerBlockedQuotaExceededError",
    8: "ProducerBlockedQuotaExceededException",
    9: "ChecksumError",
    10: "UnsupportedVersionError",
    11: "TopicNotFound",
    12: "SubscriptionNotFound",
    13: "ConsumerNotFound",
    14: "TooManyRequests",
    15: "TopicTerminatedError",
    _PRODUCER_BUSY: "ProducerBusy",
    17: "InvalidTopicName",
    18: "IncompatibleSchema",
    19: "ConsumerAssignError",
    20: "TransactionCoordinatorNotFound",
    21: "InvalidTxnStatus",
    22: "NotAllowedError",
    23: "TransactionConflict",
    24: "TransactionNotFound",
    25: "ProducerFenced",
}

_ERRORS: dict[int, tuple[type[PulsarError], str]] = {
    AUTHENTICATION_ERROR: (
        PermissionDenied,
        "check pulsar.client.authPluginClassName and pulsar.client.authParams",
    ),
    4: (PermissionDenied, "ask for the right that the message names"),
    5: (
        SubscriptionBusy,
        "another consumer uses the subscription: stop it, or give the query one of its own (option subscriptionName)",
    ),
    7: (SendError, "the topic's backlog quota is used up: consume it or raise the quota"),
    8: (SendError, "the topic's backlog quota is used up: consume it or raise the quota"),
    11: (TopicNotFoundError, "create the topic, or correct its name"),
    12: (
        OptionError,
        "make the subscription, let consumers make it (allowAutoSubscriptionCreation), or leave subscriptionName out",
    ),
    15: (SendError, "the topic is terminated and takes no more messages"),
    17: (TopicNameError, "correct the topic's name"),
    18: (SchemaError, "change the data or the topic's schema compatibility strategy"),
    21: (TransactionEnded, "it is not open any more"),
    22: (OptionError, "the broker's policies do not allow this"),
    24: (TransactionEnded, "it is not open any more"),
    25: (WriterFenced, "another writer has taken over"),
}

# ServiceNotReady: the topic moves or loads; TooManyRequests: the broker throttles; MetadataError and
# PersistenceError: a metadata store or bookie hiccup; TransactionCoordinatorNotFound: it moves. Pulsar's own clients
# retry the same set.
_PASSING = frozenset({1, 2, 6, 14, 20})

# Of what brokers have no code for, what their message says: the metadata store is away or starts again, too few
# bookies can be written to or answer, a log of the broker's own (that of transactions) begins a new ledger after
# that, or the broker is being stopped, as in a rolling restart: a part of it is closed already, and it still answers
# ("SystemTopicBasedTopicPoliciesService is closed", 4.0.8). Pulsar's own clients try again after every unknown error;
# a fault of the request that has no code would then be told half a minute later.
_PASSING_CAUSES = (
    "ConnectionLoss",
    "SessionExpired",
    "OperationTimeout",
    "KeeperErrorCode",
    "Not enough non-faulty bookies",
    "Error while recovering ledger",
    "Bookie handle is not available",
    "Bookie operation timeout",
    "Waiting to recover from failure",
    "TimeoutException",
    "closed",
    "RejectedExecutionException",
    "CancellationException",
)
_PASSES = re.compile("|".join(map(re.escape, _PASSING_CAUSES)), re.IGNORECASE)


class ProducerBusy(ProtocolError):
    """A producer of the same name is connected, or as many as the topic may have."""


class NotReady(ConnectionFailed):
    """The broker cannot answer now but may soon; look the topic up again before the next attempt."""


def server_error(code: int, message: str, where: str) -> PulsarError:
    """The exception for an error code that a broker answered; `where` names request and topic."""
    text = f"{where}: the broker answered {_NAMES.get(code, f'error {code}')}: {message.strip()}"
    if code in _PASSING or (code == UNKNOWN_ERROR and _PASSES.search(message)):
        return NotReady(text)
    if code == _PRODUCER_BUSY:
        return ProducerBusy(text)
    kind, advice = _ERRORS.get(code, (ProtocolError, ""))
    return kind(f"{text}; {advice}" if advice else text)
