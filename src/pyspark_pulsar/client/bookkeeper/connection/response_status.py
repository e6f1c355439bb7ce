"""What bookies say instead of giving an entry, in words. Source: `BookieProtocol` of BookKeeper."""

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
"""Not a bookie's word but the kernel's: the digest does not fit, or it is another entry."""

_WORDS: Final = {
    DAMAGED: "gave a damaged entry: its digest does not fit",
    NO_LEDGER: "does not have the ledger",
    NO_ENTRY: "does not have the entry",
    BAD_REQUEST: "did not understand the request",
    101: "cannot read its disk (EIO)",
    NOT_AUTHENTICATED: "demands authentication: TLS (bookieTls=true) with a certificate that it knows "
    "(bookkeeperTLSCertificateFilePath), or a password (bookkeeperClientAuthenticationPlugin)",
    BAD_VERSION: "does not speak version 2 of BookKeeper's protocol",
    104: "says that the ledger is fenced",
    105: "is read-only",
    TOO_MANY_REQUESTS: "had too many requests",
    107: "does not know what state the ledger is in",
}


def describe(code: int) -> str:
    """The words for a code, to stand behind the bookie's name."""
    return _WORDS.get(code, f"answered code {code}")
