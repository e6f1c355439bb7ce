"""Errors made of broker error codes, which name the person who has to act."""

import pytest

from pyspark_pulsar.client.broker.connection.server_error import (
    UNKNOWN_ERROR,
    MessageRefused,
    NotReady,
    server_error,
)
from pyspark_pulsar.errors import (
    ConnectionFailed,
    OptionError,
    PermissionDenied,
    ProtocolError,
    PulsarError,
    SchemaError,
    SubscriptionBusy,
    TopicNotFoundError,
)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (4, PermissionDenied),
        (5, SubscriptionBusy),
        (6, NotReady),
        (11, TopicNotFoundError),
        (12, OptionError),
        (14, NotReady),
        (18, SchemaError),
        (0, ProtocolError),
        (99, ProtocolError),
    ],
)
def test_kind(code: int, kind: type[PulsarError]) -> None:
    error = server_error(code, "because", "subscribing to t")
    assert type(error) is kind
    assert "subscribing to t" in str(error)
    assert "because" in str(error)


def test_a_passing_failure_is_retried_like_a_lost_connection() -> None:
    assert issubclass(NotReady, ConnectionFailed)


@pytest.mark.parametrize(
    ("message", "passes"),
    [
        (
            "org.apache.zookeeper.KeeperException$ConnectionLossException: KeeperErrorCode = ConnectionLoss for /x",
            True,
        ),
        ("Not enough non-faulty bookies available", True),
        ("Waiting to recover from failure", True),
        ("java.util.concurrent.TimeoutException", True),
        (
            "org.apache.bookkeeper.mledger.ManagedLedgerException: Error while recovering ledger error code: -10",
            True,
        ),
        ("org.apache.pulsar.broker.service.SystemTopicBasedTopicPoliciesService is closed.", True),
        ("org.apache.bookkeeper.mledger.ManagedLedgerException$ManagedLedgerFactoryClosedException", True),
        ("java.util.concurrent.RejectedExecutionException: Task rejected from ThreadPoolExecutor", True),
        ("java.lang.NullPointerException", False),
    ],
)
def test_an_unknown_error_whose_cause_passes_is_tried_again(message: str, *, passes: bool) -> None:
    assert isinstance(server_error(UNKNOWN_ERROR, message, "subscribing to t"), NotReady) == passes


@pytest.mark.parametrize(
    ("code", "message", "is_certain"),
    [
        (
            2,
            "ServiceUnitNotReadyException: Transaction Buffer recover failed, the current state is: None",
            True,
        ),
        (2, "Producer is closed", True),
        (6, "fenced", True),
        (2, "org.apache.bookkeeper.mledger.ManagedLedgerException: Bookie operation timeout", False),
        (6, "ManagedLedger was fenced due to concurrent access", False),
    ],
)
def test_some_answers_exclude_that_the_message_is_stored_later(
    code: int, message: str, is_certain: bool
) -> None:
    error = server_error(code, message, "sending to t")
    assert isinstance(error, NotReady)
    assert isinstance(error, MessageRefused) == is_certain
