"""TLS and authentication options for connections to bookies. Most names are from Pulsar's broker.conf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.options.connection import ConnectionOptions
from pyspark_pulsar.options.fields import both_or_none, option
from pyspark_pulsar.options.parsers import path, text, yes_or_no

PARAMETERS: Final = "bookkeeperClientAuthenticationParameters"
_SASL: Final = ("sasl", "org.apache.bookkeeper.sasl.SASLClientProviderFactory")


def auth_plugin(value: str) -> str:
    if value.strip() not in _SASL:
        raise ValueError(" or ".join(_SASL))
    return _SASL[0]


def login(value: str) -> str:
    """Parse the login for bookies. Require a form that Spark's redaction recognizes as a secret."""
    given = value.strip()
    if not given.startswith(("file:", "env:")) and '"password"' not in given:
        raise ValueError(
            'file:///path, env:NAME, or JSON such as {"username": "reader", "password": "..."}; JAAS sections and '
            "Kerberos are not supported"
        )
    return given


@dataclass(frozen=True, kw_only=True)
class BookieOptions(ConnectionOptions):
    """The options for secure connections to bookies, as a part of the read options."""

    bookie_tls: bool | None = option(
        "bookieTls",
        yes_or_no,
        "Require TLS for connections to bookies. With `false`, messages cross the network between bookies and "
        "executors in plain text.",
        default=None,
        unset="as for brokers: required if `service.url` begins with `pulsar+ssl://`",
    )
    bookie_trust_certs: str | None = option(
        "bookkeeperTLSTrustCertsFilePath",
        text("a path such as /etc/pulsar/bookie-ca.pem"),
        "Path of the CA certificates (PEM) to trust for bookies, on the driver and the executors.",
        default=None,
        unset="the file of `pulsar.client.tlsTrustCertsFilePath`",
    )
    bookie_certificate: str | None = option(
        "bookkeeperTLSCertificateFilePath",
        text("a path such as /etc/pulsar/bookie-client.pem"),
        "Path of the client certificate (PEM) for bookies, on the driver and the executors.",
        default=None,
        unset="the client certificate for brokers",
    )
    bookie_key: str | None = option(
        "bookkeeperTLSKeyFilePath",
        path,
        "Path of the private key (PEM, not encrypted) for `bookkeeperTLSCertificateFilePath`, on the driver and the "
        "executors.",
        default=None,
        unset="the private key for brokers",
        secret=True,
    )
    bookie_verify_hostname: bool | None = option(
        "bookkeeper_tlsHostnameVerificationEnabled",
        yes_or_no,
        "Check that a bookie's certificate names the host of the connection.",
        default=None,
        unset="the value of `pulsar.client.tlsHostnameVerificationEnable`",
    )

    bookie_auth_plugin: str | None = option(
        "bookkeeperClientAuthenticationPlugin",
        auth_plugin,
        "Authentication to bookies: `sasl`, or the class that BookKeeper's own client uses for SASL. SASL uses a "
        "password (DIGEST-MD5). TLS certificates need no plugin. Kerberos is not supported.",
        default=None,
        unset="no authentication besides TLS",
    )
    bookie_auth_parameters: str | None = option(
        PARAMETERS,
        login,
        'Login for `bookkeeperClientAuthenticationPlugin`: `{"username": "...", "password": "..."}`. Or set the '
        "location of this JSON, or of `user:password`: `file:///path` or `env:NAME`.",
        default=None,
        unset="none",
        secret=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        both_or_none(self, ("bookie_certificate", "bookie_key"))
        both_or_none(self, ("bookie_auth_plugin", "bookie_auth_parameters"))

    @property
    def bookies_use_tls(self) -> bool:
        """Return whether connections to bookies must use TLS."""
        return self.uses_tls if self.bookie_tls is None else self.bookie_tls
