"""Building of the TLS and authentication settings of broker connections from the options."""

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
    """TLS and authentication settings for broker connections."""

    credentials: Credentials = field(default_factory=NoAuthentication)
    tls: Tls | None = None
    """TLS settings, or None if connections do not use TLS."""
    proxy: BrokerAddress | None = None
    """The proxy to connect to instead of the brokers. TLS still verifies the broker's host name."""


def security_of(options: ConnectionOptions) -> Security:
    """Build the security settings from the options, without reading any file.

    Raises:
        OptionError: The authentication parameters or the proxy URL are malformed.

    """
    proxy = options.proxy_service_url
    return Security(
        credentials_of(options),
        tls_of(options) if options.uses_tls else None,
        None if proxy is None else parse_service_url(proxy, "pulsar.client.proxyServiceUrl")[0],
    )


def tls_of(options: ConnectionOptions) -> Tls:
    """Build the TLS settings for brokers and the admin REST API, without reading any file.

    Raises:
        OptionError: The parameters of the authentication plugin are malformed.

    """
    return Tls(
        options.tls_trust_certs,
        certificate_files(options),
        insecure=options.tls_allow_insecure,
        verify_hostname=options.tls_verify_hostname,
    )
