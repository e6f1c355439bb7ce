"""DIGEST-MD5, the SASL mechanism by which bookies authenticate users with passwords.

The password itself is never sent, and both sides prove that they know the password. Source: RFC 2831. Like BookKeeper,
this module supports only the quality of protection `auth`.
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
"""Service and host. BookKeeper uses these for all hosts (`SaslConstants`)."""


class DigestMd5:
    """A login. The methods raise `ProtocolError` if the server's message is malformed."""

    def __init__(self, user: str, password: str, *, nonce: str | None = None, uri: str = _URI) -> None:
        """Prepare a login.

        Args:
            user: The name of the user.
            password: The user's password.
            nonce: The client's nonce; by default a random one.
            uri: Service and host of the login.

        """
        self._uri = uri
        self._user = user
        self._password = password
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._expected = ""

    def respond(self, challenge: bytes) -> bytes:
        """Return the client's proof in answer to a challenge."""
        directives = _directives(challenge)
        if "nonce" not in directives or "auth" not in directives.get("qop", "auth").split(","):
            raise ProtocolError("challenge of the bookie: expected DIGEST-MD5 with qop=auth, got another one")
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
        """Check the server's proof. Raise `PermissionDenied` if the server does not know the password."""
        proof = _directives(answer).get("rspauth", "")
        if not self._expected or not hmac.compare_digest(proof.encode(), self._expected.encode()):
            raise PermissionDenied(
                "it does not prove that it knows the password; check that it is the right server"
            )


def _directives(text: bytes) -> dict[str, str]:
    directives: dict[str, str] = {}
    for name, quoted, plain in _DIRECTIVE.findall(text.decode("utf-8", "replace")):
        # If the server offers several realms, use the first, as Java's client does.
        directives.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    return directives


def _encode(text: str) -> bytes:
    """Encode a text by RFC 2831, section 2.1.2.1: as ISO 8859-1 if possible, and as UTF-8 otherwise."""
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode()


def _quoted(text: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", text)


def _hex(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
