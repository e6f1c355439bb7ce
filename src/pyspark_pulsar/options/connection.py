"""Options for connections to Pulsar."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import url, whole
from pyspark_pulsar.options.security import TLS, SecurityOptions


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions(SecurityOptions):
    """The addresses, timeouts and credentials of a cluster, for reading and writing."""

    service_url: str = option(
        "service.url",
        url("pulsar", "pulsar+ssl"),
        "Address of the brokers or of a Pulsar proxy. Use `pulsar+ssl://` for TLS. Separate several hosts with commas: "
        "`pulsar://host1:6650,host2:6650`.",
        aliases=("serviceUrl",),
    )
    admin_url: str | None = option(
        "admin.url",
        url("http", "https"),
        "Address of the admin REST API. Reading and writing need only `service.url`. With `admin.url`, reads can list "
        "the ledgers of their topics.",
        default=None,
        unset="reads do not know the ledgers of their topics",
        aliases=("adminUrl",),
    )
    connection_timeout_ms: int = option(
        "pulsar.client.connectionTimeoutMs",
        whole(1, 600_000),
        "Timeout of one attempt to connect, in milliseconds.",
        default=10_000,
    )
    operation_timeout_ms: int = option(
        "pulsar.client.operationTimeoutMs",
        whole(1, 600_000),
        "Timeout of one request to a broker, including retries, in milliseconds.",
        default=30_000,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.proxy_service_url is not None and not self.uses_tls:
            raise OptionError(
                "option 'pulsar.client.proxyServiceUrl': expected service.url to begin with pulsar+ssl://, got "
                "pulsar://; an SNI proxy finds the broker by the host name in the TLS handshake"
            )

        if self.auth_plugin == TLS and not self.uses_tls:
            raise OptionError(
                "option 'pulsar.client.authPluginClassName' is AuthenticationTls: expected service.url to begin with "
                "pulsar+ssl://, got pulsar://, which sends no client certificate"
            )

    @property
    def identity(self) -> tuple[Any, ...]:
        """Return the settings that determine the cluster, the connection and the role.

        Some settings are secret, so never log the result. A process-wide cache that outlives a query uses the settings
        as a part of its keys. Therefore a role sees only the answers to its own requests.
        """
        return tuple(getattr(self, field.name) for field in fields(ConnectionOptions))

    @property
    def uses_tls(self) -> bool:
        """Return whether connections to brokers use TLS."""
        return self.service_url.startswith("pulsar+ssl://")
