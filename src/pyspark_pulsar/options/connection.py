"""How Pulsar is reached."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import url, whole
from pyspark_pulsar.options.security import TLS, SecurityOptions


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions(SecurityOptions):
    """How to reach Pulsar; the same for reading and writing."""

    service_url: str = option(
        "service.url",
        url("pulsar", "pulsar+ssl"),
        "Address of the brokers or the Pulsar proxy, `pulsar+ssl://` for TLS; several hosts as "
        "`pulsar://host1:6650,host2:6650`.",
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.proxy_service_url is not None and not self.uses_tls:
            raise OptionError(
                "option 'pulsar.client.proxyServiceUrl' cannot be used with pulsar://: expected a service.url with "
                "pulsar+ssl:// beside it, as such a proxy knows the broker by the name in TLS"
            )

        if self.auth_plugin == TLS and not self.uses_tls:
            raise OptionError(
                "option 'pulsar.client.authPluginClassName': AuthenticationTls cannot be used with pulsar://, where no "
                "certificate is shown: expected a service.url with pulsar+ssl:// beside it"
            )

    @property
    def identity(self) -> tuple[Any, ...]:
        """Every setting that says which cluster is asked, how, and as which role; holds secrets, never log it.

        A cache of a process that outlives a query has it in its keys, so that a role sees only what was answered to
        itself.
        """
        return tuple(getattr(self, field.name) for field in fields(ConnectionOptions))

    @property
    def uses_tls(self) -> bool:
        """Whether connections to brokers are TLS."""
        return self.service_url.startswith("pulsar+ssl://")
