"""DIGEST-MD5, the SASL mechanism with which bookies authenticate users by password.

The client never sends the password. Client and server each prove that they know the password. Source: RFC 2831. Like
BookKeeper, this module supports no quality of protection except `auth`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

from pyspark_pulsar.errors import PermissionDenied, ProtocolError
from pyspark_pulsar.runtime import secrets

_DIRECTIVE: Final = re.compile(r'\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^,]*?))\s*(?:,|$)')
_COUNT: Final = "00000001"
_URI: Final = "bookkeeper/bookkeeper"
"""The digest URI: service and host. BookKeeper uses the same URI for all hosts (`SaslConstants`)."""


class DigestMd5:
    """A login at one server. If a message of the server is malformed, the methods raise `ProtocolError`."""

    def __init__(self, user: str, password: str, *, nonce: str | None = None, uri: str = _URI) -> None:
        """Prepare a login, without a message.

        Args:
            user: The name of the user.
            password: The user's password.
            nonce: The client's nonce. The default is a random nonce.
            uri: The digest URI: service and host of the login.

        """
        self._uri = uri
        self._user = user
        self._password = password
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._expected = ""

    def respond(self, challenge: bytes) -> bytes:
        """Return the message with the client's proof, in answer to the server's challenge."""
        directives = _directives(challenge)
        if "nonce" not in directives or "auth" not in directives.get("qop", "auth").split(","):
            raise ProtocolError(
                "authentication: expected a challenge of DIGEST-MD5 with qop=auth, got another challenge; read from "
                "another location (readFrom=broker or tiered)"
            )
        realm, theirs = directives.get("realm", ""), directives["nonce"]
        known = hashlib.md5(
            b":".join(_encode(text) for text in (self._user, realm, self._password)), usedforsecurity=False
        ).digest()
        session = _hex(known + f":{theirs}:{self._nonce}".encode())

        def proof(method: str) -> str:
            method_and_uri = _hex(f"{method}:{self._uri}".encode())
            return _hex(f"{session}:{theirs}:{_COUNT}:{self._nonce}:auth:{method_and_uri}".encode())

        self._expected = proof("")
        return (
            f'charset=utf-8,username="{_quoted(self._user)}",realm="{_quoted(realm)}",nonce="{_quoted(theirs)}",'
            f'nc={_COUNT},cnonce="{self._nonce}",digest-uri="{self._uri}",maxbuf=65536,response={proof("AUTHENTICATE")},qop=auth'
        ).encode()

    def check(self, answer: bytes) -> None:
        """Check the server's proof. Raise `PermissionDenied` if the proof does not match the password."""
        proof = _directives(answer).get("rspauth", "")
        if not self._expected or not hmac.compare_digest(proof.encode(), self._expected.encode()):
            raise PermissionDenied(
                "the server did not prove that it knows the password; check the address of the server"
            )


def _directives(text: bytes) -> dict[str, str]:
    directives: dict[str, str] = {}
    for name, quoted, plain in _DIRECTIVE.findall(text.decode("utf-8", "replace")):
        # If the server offers several realms, use the first realm, because Java's client does so.
        directives.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    return directives


def _encode(text: str) -> bytes:
    """Encode a text in ISO 8859-1 if possible, and otherwise in UTF-8 (RFC 2831, section 2.1.2.1)."""
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode()


def _quoted(text: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", text)


def _hex(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
