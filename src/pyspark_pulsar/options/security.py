"""Who we say we are to Pulsar, and whom we believe to be Pulsar. Names as in Pulsar's `ClientConfigurationData`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.fields import both_or_none, option
from pyspark_pulsar.options.parsers import choice, path, text, url, yes_or_no

NO_PLUGIN: Final = "none"
TOKEN, TLS, BASIC, OAUTH2 = "token", "tls", "basic", "oauth2"
_JAVA: Final = "org.apache.pulsar.client.impl.auth."
AUTH_PLUGINS: Final = {
    f"{_JAVA}AuthenticationDisabled": NO_PLUGIN,
    f"{_JAVA}AuthenticationToken": TOKEN,
    f"{_JAVA}AuthenticationTls": TLS,
    f"{_JAVA}AuthenticationBasic": BASIC,
    f"{_JAVA}oauth2.AuthenticationOAuth2": OAUTH2,
}
"""Class names of Pulsar's Java client, with the short names that its C++ and Python clients have for them."""


def auth_plugin(value: str) -> str:
    """The short name."""
    given = value.strip()
    if given in AUTH_PLUGINS:
        return AUTH_PLUGINS[given]
    if given in AUTH_PLUGINS.values():
        return given
    raise ValueError("one of " + ", ".join(f"{name} ({short})" for name, short in AUTH_PLUGINS.items()))


@dataclass(frozen=True, kw_only=True)
class SecurityOptions:
    """Authentication and TLS, for the binary protocol and the admin REST API alike; part of `ConnectionOptions`.

    Travels to executors inside the reader or writer, `auth_params` included; files are read where they are needed.
    """

    auth_plugin: str = option(
        "pulsar.client.authPluginClassName",
        auth_plugin,
        "How this client says who it is: the class name that Pulsar's Java client has for it, or the short name.",
        default=NO_PLUGIN,
    )
    auth_params: str | None = option(
        "pulsar.client.authParams",
        text,
        "What the plugin needs; see [Security](security.md). A path (`file:///path`) is safer than a secret, and is "
        "read again whenever the broker asks.",
        default=None,
        secret=True,
    )
    tls_trust_certs: str | None = option(
        "pulsar.client.tlsTrustCertsFilePath",
        text,
        "Path, on driver and executors, of the certificates (PEM) of the authorities to trust. Default: those of the "
        "system.",
        default=None,
    )
    tls_certificate: str | None = option(
        "pulsar.client.tlsCertificateFilePath",
        text,
        "Path, on driver and executors, of the certificate (PEM) that this client shows.",
        default=None,
    )
    tls_key: str | None = option(
        "pulsar.client.tlsKeyFilePath",
        path,
        "Path, on driver and executors, of the private key (PEM, not encrypted) of that certificate.",
        default=None,
        secret=True,
    )
    tls_allow_insecure: bool = option(
        "pulsar.client.tlsAllowInsecureConnection",
        yes_or_no,
        "Believe any certificate, whatever name it has. Anyone on the way can then read and change what is sent.",
        default=False,
    )
    tls_verify_hostname: bool = option(
        "pulsar.client.tlsHostnameVerificationEnable",
        yes_or_no,
        "Whether a certificate must name the host that was connected to.",
        default=True,
    )
    listener_name: str | None = option(
        "pulsar.client.listenerName",
        text,
        "Which of the brokers' advertised listeners to use.",
        default=None,
    )
    proxy_service_url: str | None = option(
        "pulsar.client.proxyServiceUrl",
        url("pulsar+ssl"),
        "Address of a proxy that forwards TLS connections by the name of the broker (SNI). A Pulsar proxy is not that: "
        "its address is `service.url`.",
        default=None,
    )
    proxy_protocol: str | None = option(
        "pulsar.client.proxyProtocol",
        choice("SNI"),
        "The protocol of that proxy.",
        default=None,
    )

    def __post_init__(self) -> None:
        both_or_none(self, ("tls_certificate", "tls_key"))
        both_or_none(self, ("proxy_service_url", "proxy_protocol"))
        if self.auth_params is not None and self.auth_plugin == NO_PLUGIN:
            raise OptionError(
                "option 'pulsar.client.authPluginClassName' is missing: expected it beside pulsar.client.authParams, "
                "got pulsar.client.authParams alone"
            )
