"""CREATE and ALTER NAMESPACE statements that are refused before any request: no server listens at the address
below.
"""

from __future__ import annotations

import pytest

from pyspark_pulsar.catalog.statements.namespaces import alter_namespace, create_namespace
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.topic import Namespace
from pyspark_pulsar.options import ConnectionOptions


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"location": "s3://x"}, "remove the property"),
        ({"retention_time": "soon"}, "a duration"),
        ({"message_ttl": "never"}, "a duration"),
        ({"backlog_quota.destination_storage": "1"}, "is read-only"),
    ],
)
def test_invalid_statements_are_refused_without_a_request(properties: dict[str, str], reason: str) -> None:
    options = ConnectionOptions(service_url="pulsar://x:6650", admin_url="http://127.0.0.1:1")
    with AdminClient(options, patience_ms=1) as admin:
        with pytest.raises(PulsarError, match=reason):
            create_namespace(admin, Namespace("t", "n"), properties)
        with pytest.raises(PulsarError, match=reason):
            alter_namespace(admin, Namespace("t", "n"), properties, ())
