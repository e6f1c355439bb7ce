import json
import time
from base64 import urlsafe_b64encode

import pytest

from pyspark_pulsar.client.security.token_claims import expiry_hint


def token(claims: object) -> bytes:
    return b"e30." + urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=") + b".c2ln"


def test_a_token_that_has_ended_says_when() -> None:
    assert expiry_hint(token({"sub": "amy", "exp": 0})) == "; the token expired at 1970-01-01T00:00:00+00:00"
    assert expiry_hint(token({"sub": "amy", "exp": time.time() - 1})) != ""


@pytest.mark.parametrize(
    "data",
    [
        token({"exp": time.time() + 86_400}),
        token({"sub": "amy"}),
        token({"exp": "soon"}),
        token({"exp": -1e300}),
        token(["exp"]),
        b"a.b.c",
        b"a.\xff.c",
        b"amy:sesame",
        b"",
    ],
)
def test_nothing_is_said_of_other_things(data: bytes) -> None:
    assert expiry_hint(data) == ""
