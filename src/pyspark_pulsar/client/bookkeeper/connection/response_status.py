"""Status codes of bookies' answers, and words for the codes. Source: `BookieProtocol` of BookKeeper."""

from __future__ import annotations

from typing import Final

OK: Final = 0
NOT_AUTHENTICATED: Final = 102
NO_LEDGER: Final = 1
NO_ENTRY: Final = 2
BAD_REQUEST: Final = 100
BAD_VERSION: Final = 103
TOO_MANY_REQUESTS: Final = 106
DAMAGED: Final = -1
"""A code that the kernel reports if the digest of an entry does not match, or the entry was not requested."""

_WORDS: Final = {
    DAMAGED: "returned a damaged entry, whose digest does not match",
    NO_LEDGER: "does not have the ledger",
    NO_ENTRY: "does not have the entry",
    BAD_REQUEST: "did not understand the request",
    101: "cannot read its disk (EIO)",
    NOT_AUTHENTICATED: "requires authentication: TLS (bookieTls=true) with a certificate that the bookie trusts "
    "(bookkeeperTLSCertificateFilePath), or a password (bookkeeperClientAuthenticationPlugin)",
    BAD_VERSION: "does not support version 2 of BookKeeper's protocol",
    104: "reports that the ledger is fenced",
    105: "is read-only",
    TOO_MANY_REQUESTS: "had too many requests",
    107: "does not know the state of the ledger",
}


def describe(code: int) -> str:
    """Return a verb phrase for a code. Error messages put the bookie's name before the phrase."""
    return _WORDS.get(code, f"answered code {code}")
