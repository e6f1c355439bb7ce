"""What a connection needs to be let in and to know whom it talks to, from the options."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark_pulsar.client.security.credentials import (
    Credentials,
    NoAuthentication,
    certificate_files,
    credentials_of,
)
from pyspark_pulsar.client.security.tls import Tls
from pyspark_pulsar.client.security.url import BrokerAddress, parse_service_url
from pyspark_pulsar.options import ConnectionOptions


@dataclass(frozen=True)
class Security:
    """Of connections to brokers."""

    credentials: Credentials = field(default_factory=NoAuthentication)
    tls: Tls | None = None
    """None for connections without TLS."""
    proxy: BrokerAddress | None = None
    """Where to connect instead, with the broker's name in TLS."""


def security_of(options: ConnectionOptions) -> Security:
    """Touches no file. Raises `OptionError`."""
    proxy = options.proxy_service_url
    return Security(
        credentials_of(options),
        tls_of(options) if options.uses_tls else None,
        None if proxy is None else parse_service_url(proxy, "pulsar.client.proxyServiceUrl")[0],
    )


def tls_of(options: ConnectionOptions) -> Tls:
    """For brokers and the admin REST API. Touches no file. Raises `OptionError`."""
    return Tls(
        options.tls_trust_certs,
        certificate_files(options),
        insecure=options.tls_allow_insecure,
        verify_hostname=options.tls_verify_hostname,
    )
