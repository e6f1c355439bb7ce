"""The expiry time in a JSON Web Token, for error messages. Brokers report no reason when they refuse a token.

Format: RFC 7519. This module verifies no signature.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

from pyspark_pulsar.runtime import time


def expiry_hint(credentials_data: bytes) -> str:
    """Return `; the token expired at ...`, or an empty text if the token has not expired or cannot be parsed.

    The result contains only the time of expiry, and no other claim of the token.
    """
    parts = credentials_data.split(b".")
    if len(parts) != 3:  # noqa: PLR2004 -- header, claims, signature
        return ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4)))
        end = claims.get("exp") if isinstance(claims, dict) else None
        if not isinstance(end, int | float) or end > time.time():
            return ""
        return f"; the token expired at {datetime.fromtimestamp(end, UTC).isoformat()}"
    except (ValueError, RecursionError, OverflowError, OSError):
        return ""
