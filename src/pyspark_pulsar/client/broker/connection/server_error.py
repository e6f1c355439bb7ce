"""Conversion of a broker's error codes to exceptions, which show who can act and whether a retry can help.

The codes are the values of the enum `ServerError` in the protocol specification.
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
    4: (PermissionDenied, "grant the role the permission in the message"),
    5: (
        SubscriptionBusy,
        "another consumer uses the subscription: stop it, or choose another name in option subscriptionName",
    ),
    7: (SendError, "the topic's backlog quota is used up: consume the backlog, or raise the quota"),
    8: (SendError, "the topic's backlog quota is used up: consume the backlog, or raise the quota"),
    11: (TopicNotFoundError, "create the topic, or correct its name"),
    12: (
        OptionError,
        "create the subscription, let consumers create it (allowAutoSubscriptionCreation), or remove subscriptionName",
    ),
    15: (SendError, "the topic is terminated and accepts no more messages: write to another topic"),
    17: (TopicNameError, "correct the topic's name"),
    18: (SchemaError, "change the data or the topic's schema compatibility strategy"),
    21: (TransactionEnded, "the transaction is no longer open"),
    22: (
        OptionError,
        "the policies of the broker, namespace or topic do not allow this request: let an administrator change them",
    ),
    24: (TransactionEnded, "the transaction is no longer open"),
    25: (WriterFenced, "another writer has taken over"),
}

# Codes of temporary failures. ServiceNotReady: the topic is moving or loading. TooManyRequests: the broker throttles
# clients. MetadataError and PersistenceError: the metadata store or a bookie is temporarily unavailable.
# TransactionCoordinatorNotFound: the coordinator is moving. Pulsar's own clients retry after the same codes.
_PASSING = frozenset({1, 2, 6, 14, 20})

# Texts in the messages of temporary failures that brokers report as UnknownError. The causes are:
# - The metadata store is unavailable or restarting.
# - Too few bookies accept writes or answer. Afterwards, the broker's transaction log starts a new ledger.
# - The broker is stopping, for example in a rolling restart, and still answers while its services are closed
#   ("SystemTopicBasedTopicPoliciesService is closed", 4.0.8).
# Pulsar's own clients retry after every unknown error. For an invalid request, such retries would delay the error by
# half a minute.
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


# Texts of temporary failures after which the broker never stores the refused message (Pulsar 4.0.8). The causes are:
# - The topic was loaded a moment ago, and the recovery of its transaction buffer has not begun
#   (`TopicTransactionBuffer.appendBufferToTxn`).
# - The topic is fenced, because the broker has refused another message a moment ago (`PersistentTopic`).
# - The broker has closed the producer (`Producer.checkAndStartPublish`).
_NOT_STORED = re.compile("Transaction Buffer recover failed|^(?:fenced|Producer is closed)$")


class ProducerBusy(ProtocolError):
    """Another producer of the same name is connected, or the topic already has its maximum number of producers."""


class NotReady(ConnectionFailed):
    """The broker temporarily cannot serve the request. Look up the topic again before the next attempt."""


class MessageRefused(NotReady):
    """The broker has not stored the message and will not store it later. A new attempt stores only one copy."""


def server_error(code: int, message: str, where: str) -> PulsarError:
    """Return the exception for a broker's error code.

    Args:
        code: The code.
        message: The broker's message.
        where: A description of the request and its topic, for the error message.

    """
    text = f"{where}: the broker answered {_NAMES.get(code, f'error {code}')}: {message.strip()}"
    if code in _PASSING or (code == UNKNOWN_ERROR and _PASSES.search(message)):
        return (MessageRefused if _NOT_STORED.search(message.strip()) else NotReady)(text)
    if code == _PRODUCER_BUSY:
        return ProducerBusy(text)
    kind, advice = _ERRORS.get(code, (ProtocolError, ""))
    return kind(f"{text}; {advice}" if advice else text)
