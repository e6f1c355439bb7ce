"""TLS and authentication options for connections to brokers. Names follow Pulsar's `ClientConfigurationData`."""

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
"""Short names of authentication plugins in Pulsar's C++ and Python clients, by the Java client's class name."""


def auth_plugin(value: str) -> str:
    """Return the short name of an authentication plugin."""
    given = value.strip()
    if given in AUTH_PLUGINS:
        return AUTH_PLUGINS[given]
    if given in AUTH_PLUGINS.values():
        return given
    raise ValueError("one of " + ", ".join(f"{name} ({short})" for name, short in AUTH_PLUGINS.items()))


@dataclass(frozen=True, kw_only=True)
class SecurityOptions:
    """Authentication and TLS, for the binary protocol and the admin REST API. The base of `ConnectionOptions`.

    The reader or writer sends these options to the executors, including `auth_params`. The options contain paths of
    files. The driver and each executor read their local files at these paths.
    """

    auth_plugin: str = option(
        "pulsar.client.authPluginClassName",
        auth_plugin,
        "Authentication method: a short name, or the class name of Pulsar's Java client.",
        default=NO_PLUGIN,
    )
    auth_params: str | None = option(
        "pulsar.client.authParams",
        text("parameters of the plugin, such as file:///etc/pulsar/token"),
        "Parameters of the authentication plugin; see [Security](security.md). Prefer a file (`file:///path`) to a "
        "secret in the option: executors read the file again at each request of the broker for credentials.",
        default=None,
        unset="none",
        secret=True,
    )
    tls_trust_certs: str | None = option(
        "pulsar.client.tlsTrustCertsFilePath",
        text("a path such as /etc/pulsar/ca.pem"),
        "Path of the CA certificates (PEM) to trust, on the driver and the executors.",
        default=None,
        unset="the certificates of the system",
    )
    tls_certificate: str | None = option(
        "pulsar.client.tlsCertificateFilePath",
        text("a path such as /etc/pulsar/client.pem"),
        "Path of the client certificate (PEM), on the driver and the executors.",
        default=None,
        unset="no client certificate",
    )
    tls_key: str | None = option(
        "pulsar.client.tlsKeyFilePath",
        path,
        "Path of the private key (PEM, not encrypted) for `pulsar.client.tlsCertificateFilePath`, on the driver and "
        "the executors.",
        default=None,
        unset="no client certificate",
        secret=True,
    )
    tls_allow_insecure: bool = option(
        "pulsar.client.tlsAllowInsecureConnection",
        yes_or_no,
        "Accept any server certificate with any name. Anyone on the network path can then read and change the data.",
        default=False,
    )
    tls_verify_hostname: bool = option(
        "pulsar.client.tlsHostnameVerificationEnable",
        yes_or_no,
        "Check that the server's certificate names the host of the connection.",
        default=True,
    )
    listener_name: str | None = option(
        "pulsar.client.listenerName",
        text("the name of a listener, such as external"),
        "Advertised listener of the brokers to connect to.",
        default=None,
        unset="the brokers' default listener",
    )
    proxy_service_url: str | None = option(
        "pulsar.client.proxyServiceUrl",
        url("pulsar+ssl"),
        "Address of an SNI proxy, which routes TLS connections by the broker's host name. For a Pulsar proxy, set its "
        "address as `service.url` instead.",
        default=None,
        unset="no SNI proxy",
    )
    proxy_protocol: str | None = option(
        "pulsar.client.proxyProtocol",
        choice("SNI"),
        "Protocol of the proxy in `pulsar.client.proxyServiceUrl`.",
        default=None,
        unset="no SNI proxy",
    )

    def __post_init__(self) -> None:
        both_or_none(self, ("tls_certificate", "tls_key"))
        both_or_none(self, ("proxy_service_url", "proxy_protocol"))
        if self.auth_params is not None and self.auth_plugin == NO_PLUGIN:
            raise OptionError(
                "option 'pulsar.client.authPluginClassName' is missing: expected it together with "
                "pulsar.client.authParams, got pulsar.client.authParams alone; set both or none"
            )
