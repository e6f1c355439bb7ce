"""How Pulsar is reached."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import url, whole


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """How to reach Pulsar; the same for reading and writing."""

    service_url: str = option(
        "service.url",
        url("pulsar"),
        "Address of the brokers or the proxy; several hosts as `pulsar://host1:6650,host2:6650`.",
        aliases=("serviceUrl",),
    )
    admin_url: str | None = option(
        "admin.url",
        url("http", "https"),
        "Address of the admin REST API. Reading and writing need only `service.url`; with it, reads know the "
        "ledgers of their topics.",
        default=None,
        aliases=("adminUrl",),
    )
    connection_timeout_ms: int = option(
        "pulsar.client.connectionTimeoutMs",
        whole(1, 600_000),
        "How long one attempt to connect may take, in milliseconds.",
        default=10_000,
    )
    operation_timeout_ms: int = option(
        "pulsar.client.operationTimeoutMs",
        whole(1, 600_000),
        "How long one request to a broker may take, retries included, in milliseconds.",
        default=30_000,
    )
