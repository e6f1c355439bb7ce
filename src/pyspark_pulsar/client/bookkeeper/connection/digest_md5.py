"""DIGEST-MD5, the SASL mechanism by which bookies know users by passwords: no password crosses, and both sides prove
that they know it. Source: RFC 2831, of which quality of protection `auth` is spoken, as BookKeeper does."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final

from pyspark_pulsar.errors import PermissionDenied, ProtocolError

_DIRECTIVE: Final = re.compile(r'\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^,]*?))\s*(?:,|$)')
_COUNT: Final = "00000001"
_URI: Final = "bookkeeper/bookkeeper"
"""Service and host, which BookKeeper calls so whatever the host (`SaslConstants`)."""


class DigestMd5:
    """One login. Raises `ProtocolError` for what is no challenge."""

    def __init__(self, user: str, password: str, *, nonce: str | None = None, uri: str = _URI) -> None:
        """`nonce`: ours, by default a random one; `uri`: what is logged in to."""
        self._uri = uri
        self._user = user
        self._password = password
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._expected = ""

    def respond(self, challenge: bytes) -> bytes:
        """Our proof."""
        directives = _directives(challenge)
        if "nonce" not in directives or "auth" not in directives.get("qop", "auth").split(","):
            raise ProtocolError("the challenge of the bookie is none of DIGEST-MD5 with qop=auth")
        realm, theirs = directives.get("realm", ""), directives["nonce"]
        known = hashlib.md5(
            b":".join(_encoded(text) for text in (self._user, realm, self._password)), usedforsecurity=False
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
        """Their proof. Raises `PermissionDenied` for a server that does not know the password."""
        proof = _directives(answer).get("rspauth", "")
        if not self._expected or not hmac.compare_digest(proof.encode(), self._expected.encode()):
            raise PermissionDenied("it does not prove that it knows the password: it is not who it should be")


def _directives(text: bytes) -> dict[str, str]:
    directives: dict[str, str] = {}
    for name, quoted, plain in _DIRECTIVE.findall(text.decode("utf-8", "replace")):
        # Of several realms the first is ours, as in Java's client.
        directives.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    return directives


def _encoded(text: str) -> bytes:
    """RFC 2831, section 2.1.2.1: ISO 8859-1 where that is enough, else UTF-8."""
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode()


def _quoted(text: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", text)


def _hex(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
