"""A parser for ledger metadata, which is a text in the answer to `internalStats?metadata=true`.

Source: BookKeeper's `LedgerMetadataImpl.toSafeString()`. The text has the form of a Java `toString`, and is not JSON:
`LedgerMetadata{formatVersion=3, ensembleSize=3, writeQuorumSize=2, ..., digestType=CRC32C, password=OMITTED,
ensembles={0=[a:3181, b:3181, c:3181], 120=[a:3181, d:3181, c:3181]}, customMetadata={...}}`.
"""

from __future__ import annotations

import re
from typing import Final

from pyspark_pulsar.client.ledger import Ensemble, LedgerMetadata

_WRITE_QUORUM: Final = re.compile(r"\bwriteQuorumSize=(\d+)")
_DIGEST: Final = re.compile(r"\bdigestType=(\w+)")
# BookKeeper's class BookieId forbids brackets, commas and spaces in ids.
_ENSEMBLES: Final = re.compile(r"\bensembles=\{((?:\d+=\[[^\[\]]*\](?:, )?)+)\}")
_ENSEMBLE: Final = re.compile(r"(\d+)=\[([^\[\]]*)\]")
_DIGESTS: Final = {"CRC32C": "CRC32C", "CRC32": "CRC32", "MAC": "HMAC", "DUMMY": "DUMMY"}


def parse_ledger_metadata(text: str) -> LedgerMetadata | None:
    """Parse ledger metadata. Return None if the text is incomplete or invalid. Readers then query the bookies."""
    quorum, digest, ensembles = _WRITE_QUORUM.search(text), _DIGEST.search(text), _ENSEMBLES.search(text)
    if quorum is None or digest is None or ensembles is None or digest[1] not in _DIGESTS:
        return None
    by_entry = tuple(
        sorted(
            (
                Ensemble(int(first), tuple(bookies.split(", ")))
                for first, bookies in _ENSEMBLE.findall(ensembles[1])
            ),
            key=lambda ensemble: ensemble.first_entry,
        )
    )
    write_quorum = int(quorum[1])
    fits = all(1 <= write_quorum <= len(ensemble.bookies) and all(ensemble.bookies) for ensemble in by_entry)
    if not fits or by_entry[0].first_entry != 0:
        return None
    return LedgerMetadata(write_quorum, _DIGESTS[digest[1]], by_entry)
