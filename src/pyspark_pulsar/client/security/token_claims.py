"""What a JSON web token says of itself, for error messages: brokers do not say why they refuse one.

Format: RFC 7519. Nothing here checks a signature.
"""

from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime


def why_refused(credentials_data: bytes) -> str:
    """`; the token ended at ...`, or empty where that is not it. What else the token holds is not shown."""
    parts = credentials_data.split(b".")
    if len(parts) != 3:  # noqa: PLR2004 -- header, claims, signature
        return ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4)))
        end = claims.get("exp") if isinstance(claims, dict) else None
        if not isinstance(end, int | float) or end > time.time():
            return ""
        return f"; the token ended at {datetime.fromtimestamp(end, UTC).isoformat()}"
    except (ValueError, RecursionError, OverflowError, OSError):
        return ""
