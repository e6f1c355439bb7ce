"""Credentials for CONNECT commands, authentication challenges and requests to the admin REST API.

Each process that connects reads the secret again at each use, from the location in `pulsar.client.authParams`. No
error, log line or `repr` contains a secret.

Source: Pulsar's `AuthenticationToken`, `AuthenticationBasic`, `AuthenticationTls` and their data providers. The prefix
`env:` has the same meaning as in Pulsar's C++ client.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from pyspark_pulsar.client.security.oauth2 import OAuth2Flow, access_token, file_path
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.options.security import BASIC, NO_PLUGIN, OAUTH2, TLS, TOKEN
from pyspark_pulsar.options.values.regular_file import read_regular_file

_METHOD_HEADER: Final = "X-Pulsar-Auth-Method-Name"
_PARAMS: Final = "option 'pulsar.client.authParams'"
_BASIC: Final = (
    f'{_PARAMS}: expected {{"userId": "...", "password": "..."}}, file:///path or env:NAME with AuthenticationBasic, '
    f"got something else (not shown)"
)


class Credentials(Protocol):
    """An authentication method with its secret or the location of its secret.

    Several threads can share an instance, and instances can be pickled. Instances with equal options are equal.
    """

    @property
    def method(self) -> str:
        """Return the name by which brokers identify the authentication method."""

    def data(self, *, renew: bool = False) -> bytes:
        """Return the data for CONNECT and AUTH_RESPONSE.

        Set a time limit (`client.time_limit`), because this method can wait for a network share or identity provider.

        Args:
            renew: True if the broker no longer accepts the data of earlier calls.

        Raises:
            OptionError: The file or environment variable does not contain the secret.
            PulsarError: The identity provider returned no token. `oauth2.access_token` lists the error classes.

        """

    def headers(self) -> dict[str, str]:
        """Return the headers for HTTP requests. This method raises the same errors as `data`."""


def credentials_of(options: ConnectionOptions) -> Credentials:
    """Build the credentials for the authentication plugin in the options, without reading any file.

    Raises:
        OptionError: The parameters of the plugin are missing or malformed.

    """
    params = options.auth_params
    if options.auth_plugin == NO_PLUGIN:
        return NoAuthentication()
    if options.auth_plugin == TLS:
        return CertificateCredentials()
    if params is None:
        raise OptionError(f"{_PARAMS}: expected parameters for the plugin in authPluginClassName, got none")
    if options.auth_plugin == TOKEN:
        document = _document(params)
        if document is not None:
            return TokenCredentials(_Secret(f"token:{_text(document, 'token')}"))
        if not params.startswith(("token:", "file:", "env:")):
            # Pulsar's Java client also accepts a bare token. In SQL plans, Spark redacts `token:...`, but not a bare
            # token.
            raise OptionError(
                f"{_PARAMS}: expected file:///path, env:NAME or token:... with AuthenticationToken, got a text that "
                f"begins with none of these prefixes (not shown)"
            )
        return TokenCredentials(_Secret(params))
    if options.auth_plugin == BASIC:
        secret = _Secret(params)
        if secret.is_inline and _document(params) is None:
            # In SQL plans, Spark redacts a JSON text with the name `password`, but not a bare `user:password`.
            raise OptionError(_BASIC)
        if secret.is_inline:
            _user_and_password(params)
        return PasswordCredentials(secret)
    assert options.auth_plugin == OAUTH2  # noqa: S101 -- the options accept no other plugin
    return OAuth2Credentials(_oauth2_flow(_document(params)))


def certificate_files(options: ConnectionOptions) -> tuple[str, str] | None:
    """Return the paths of the client's certificate and private key for TLS.

    The parameters of the authentication plugin take precedence over the TLS options.

    Returns:
        Both paths, or None if the options name no certificate.

    Raises:
        OptionError: The parameters of the plugin are malformed, or the plugin requires a certificate and the options
            name none.

    """
    plain = (options.tls_certificate, options.tls_key)
    files = (plain[0], plain[1]) if plain[0] is not None and plain[1] is not None else None
    if options.auth_plugin != TLS:
        return files
    if options.auth_params is not None:
        document = _document(options.auth_params) or _pairs(options.auth_params)
        return file_path(_text(document, "tlsCertFile")), file_path(_text(document, "tlsKeyFile"))
    if files is None:
        raise OptionError(
            f"{_PARAMS}: expected tlsCertFile:/path,tlsKeyFile:/path with AuthenticationTls, or the options "
            f"pulsar.client.tlsCertificateFilePath and tlsKeyFilePath, got neither"
        )
    return files


@dataclass(frozen=True)
class _Secret:
    """A secret, or the location of a secret: `file:` with a path, or `env:` with an environment variable."""

    place: str = field(repr=False)
    option: str = _PARAMS

    @property
    def is_inline(self) -> bool:
        return not self.place.startswith(("file:", "env:"))

    def read(self) -> str:
        scheme, _, rest = self.place.partition(":")
        if scheme == "file":
            return _read_file(file_path(self.place), self.option)
        if scheme == "env":
            value = os.environ.get(rest.strip(), "").strip()
            if not value:
                raise OptionError(
                    f"{self.option}: expected a value in the environment variable {rest.strip()} of each process that "
                    f"connects, got none"
                )
            return value
        return self.place.removeprefix("token:").strip()


@dataclass(frozen=True)
class NoAuthentication:
    """Credentials of a client that does not authenticate."""

    method: str = "none"

    def data(self, *, renew: bool = False) -> bytes:  # noqa: ARG002
        return b""

    def headers(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True)
class CertificateCredentials:
    """Credentials of a client that authenticates by TLS certificate. The commands contain no credentials."""

    method: str = "tls"

    def data(self, *, renew: bool = False) -> bytes:  # noqa: ARG002
        return b""

    def headers(self) -> dict[str, str]:
        return {_METHOD_HEADER: self.method}


@dataclass(frozen=True)
class TokenCredentials:
    """Credentials with a JSON Web Token."""

    secret: _Secret
    method: str = "token"

    def data(self, *, renew: bool = False) -> bytes:  # noqa: ARG002
        return checked_token(self.secret.read(), _PARAMS).encode()

    def headers(self) -> dict[str, str]:
        return _bearer(self.data())


@dataclass(frozen=True)
class PasswordCredentials:
    """Credentials with a user name and a password."""

    secret: _Secret
    method: str = "basic"

    def data(self, *, renew: bool = False) -> bytes:  # noqa: ARG002
        return ":".join(_user_and_password(self.secret.read())).encode()

    def headers(self) -> dict[str, str]:
        words = base64.b64encode(self.data()).decode()
        return {"Authorization": f"Basic {words}", _METHOD_HEADER: self.method}


@dataclass(frozen=True)
class OAuth2Credentials:
    """Credentials with a token that an identity provider issues for a client id and secret."""

    flow: OAuth2Flow
    method: str = "token"

    def data(self, *, renew: bool = False) -> bytes:
        return checked_token(
            access_token(self.flow, renew=renew), "the token of the identity provider"
        ).encode()

    def headers(self) -> dict[str, str]:
        return _bearer(self.data())


def checked_token(token: str, where: str) -> str:
    """Check that a text can be a token, and return the text.

    Args:
        token: The text to check.
        where: The source of the token, for the error message.

    Raises:
        OptionError: The text cannot be a token, for example because it has several lines.

    """
    if (
        not token
        or not token.isascii()
        or any(letter.isspace() or not letter.isprintable() for letter in token)
    ):
        raise OptionError(f"{where}: expected one token without spaces, got something else (not shown)")
    return token


def _bearer(token: bytes) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.decode()}", _METHOD_HEADER: "token"}


def _user_and_password(text: str, option: str = _PARAMS) -> tuple[str, str]:
    document = _document(text)
    if document is not None:
        names = ("userId", "password") if "userId" in document else ("username", "password")
        return _text(document, names[0], option=option), _text(document, names[1], option=option)
    user, separator, password = text.partition(":")
    if not separator or not user:
        raise OptionError(
            f'{option}: expected {{"username": "...", "password": "..."}}, got something else (not shown)'
        )
    return user, password


def _oauth2_flow(document: dict[str, Any] | None) -> OAuth2Flow:
    expected = '{"issuerUrl": "https://...", "privateKey": "file:///...", "audience": "..."}'
    if document is None or document.get("type", "client_credentials") != "client_credentials":
        raise OptionError(
            f"{_PARAMS}: expected {expected} with AuthenticationOAuth2, got something else (not shown)"
        )
    issuer = _text(document, "issuerUrl", "issuer_url")
    if urlsplit(issuer).scheme not in ("https", "http") or "@" in urlsplit(issuer).netloc:
        raise OptionError(f"{_PARAMS}: expected https://host in issuerUrl, got another kind of address")
    trusted = _text(document, "trustCertsFilePath", default="")
    return OAuth2Flow(
        issuer.rstrip("/"),
        _text(document, "privateKey", "private_key"),
        _text(document, "audience", default=""),
        _text(document, "scope", default=""),
        file_path(trusted) if trusted else None,
    )


def _document(text: str) -> dict[str, Any] | None:
    """Return the JSON object in the text, or None if the text is not a JSON object."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _pairs(text: str) -> dict[str, Any]:
    """Parse `name:value,name:value`, the format of authentication parameters in Pulsar's first releases."""
    parts = (part.partition(":") for part in text.split(","))
    return {name.strip(): value.strip() for name, _, value in parts if value.strip()}


def _text(document: dict[str, Any], *names: str, default: str | None = None, option: str = _PARAMS) -> str:
    for name in names:
        value = document.get(name)
        if isinstance(value, str) and value:
            return value
    if default is None:
        raise OptionError(f"{option}: expected a text for {names[0]!r}, got none")
    return default


def user_and_password(place: str, option: str) -> tuple[str, str]:
    """Read a user name and a password. The text is JSON or `user:password`.

    Args:
        place: The text, or the location of the text: `file:` with a path, or `env:` with an environment variable.
        option: The name of the option, for error messages.

    Raises:
        OptionError: The file or variable cannot be read, or does not contain a user name and a password.

    """
    return _user_and_password(_Secret(place, option).read(), option)


def _read_file(path: str, option: str) -> str:
    try:
        content = read_regular_file(path).decode().strip()
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "the file is not text"
        raise OptionError(
            f"{option}: expected a readable file {path} on each machine that connects, got none ({reason})"
        ) from None
    if not content:
        raise OptionError(f"{option}: expected a secret in the file {path}, got an empty file")
    return content
