"""Options about connections to bookies: TLS and certificates. Names as in Pulsar's broker.conf where it has them."""

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
    """In a form that Spark takes for a secret."""
    given = text(value)
    if not given.startswith(("file:", "env:")) and '"password"' not in given:
        raise ValueError(
            '{"username": "...", "password": "..."}, or file:///path or env:NAME of it; a section of a JAAS file and '
            "Kerberos are not understood"
        )
    return given


@dataclass(frozen=True, kw_only=True)
class BookieOptions(ConnectionOptions):
    """Part of the options of `spark.read` and `spark.readStream`."""

    bookie_tls: bool | None = option(
        "bookieTls",
        yes_or_no,
        "Whether connections to bookies must be TLS. Default: as those to brokers, so with `pulsar+ssl://` they must. "
        "`false` lets messages cross the network in plain text between bookies and executors.",
        default=None,
    )
    bookie_trust_certs: str | None = option(
        "bookkeeperTLSTrustCertsFilePath",
        text,
        "Path, on driver and executors, of the certificates (PEM) of the authorities that sign those of bookies. "
        "Default: `pulsar.client.tlsTrustCertsFilePath`.",
        default=None,
    )
    bookie_certificate: str | None = option(
        "bookkeeperTLSCertificateFilePath",
        text,
        "Path, on driver and executors, of the certificate (PEM) that bookies are shown. Default: the one that "
        "brokers are shown.",
        default=None,
    )
    bookie_key: str | None = option(
        "bookkeeperTLSKeyFilePath",
        path,
        "Path, on driver and executors, of the private key (PEM, not encrypted) of that certificate.",
        default=None,
        secret=True,
    )
    bookie_verify_hostname: bool | None = option(
        "bookkeeper_tlsHostnameVerificationEnabled",
        yes_or_no,
        "Whether a bookie's certificate must name the host that was connected to. Default: "
        "`pulsar.client.tlsHostnameVerificationEnable`.",
        default=None,
    )

    bookie_auth_plugin: str | None = option(
        "bookkeeperClientAuthenticationPlugin",
        auth_plugin,
        "How bookies are told who asks: the class name that BookKeeper's client has for it, or `sasl`: SASL with a "
        "password (DIGEST-MD5). Certificates need no plugin. Kerberos is not spoken.",
        default=None,
    )
    bookie_auth_parameters: str | None = option(
        PARAMETERS,
        login,
        'Beside that plugin, `{"username": "...", "password": "..."}`; or `file:///path` or `env:NAME` of that, or of '
        "`user:password`.",
        default=None,
        secret=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        both_or_none(self, ("bookie_certificate", "bookie_key"))
        both_or_none(self, ("bookie_auth_plugin", "bookie_auth_parameters"))

    @property
    def bookies_use_tls(self) -> bool:
        """Whether nothing may be sent to bookies, or taken from them, in plain text."""
        return self.uses_tls if self.bookie_tls is None else self.bookie_tls
