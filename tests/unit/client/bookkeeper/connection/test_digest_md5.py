"""Tests of DIGEST-MD5 with the example of RFC 2831, section 4.

A test in tests/integration/cluster shows that a bookie accepts the client's proof.
"""

from __future__ import annotations

import pytest

from pyspark_pulsar.client.bookkeeper.connection.digest_md5 import DigestMd5
from pyspark_pulsar.errors import PermissionDenied, ProtocolError

CHALLENGE = b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'
PROOF = b"rspauth=ea40f60335c427b5527b84dbabcdfffd"


def made(password: str = "secret") -> DigestMd5:
    return DigestMd5("chris", password, nonce="OA6MHXh6VqTrRk", uri="imap/elwood.innosoft.com")


def test_the_example_of_the_rfc() -> None:
    login = made()
    answer = login.respond(CHALLENGE).decode()
    assert ",response=d388dad90d4bbd760a152321f2143af7," in answer
    assert 'username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh"' in answer
    login.check(PROOF)


@pytest.mark.parametrize(
    "proof", [b"", b"rspauth=", b"rspauth=ea40f60335c427b5527b84dbabcdfffe", b"\xff", PROOF]
)
def test_a_server_that_does_not_know_the_password(proof: bytes) -> None:
    login = made("another")
    login.respond(CHALLENGE)
    with pytest.raises(PermissionDenied):
        login.check(proof)
    with pytest.raises(PermissionDenied):
        made().check(PROOF)


@pytest.mark.parametrize("challenge", [b"", b"\xff\x00", b'realm="r"', b'nonce="n",qop="auth-conf"'])
def test_an_invalid_challenge_is_refused(challenge: bytes) -> None:
    with pytest.raises(ProtocolError):
        made().respond(challenge)


def test_names_that_need_quoting_and_other_alphabets() -> None:
    quoted = DigestMd5('a"b\\c', "päss", nonce="n").respond(CHALLENGE).decode()
    assert 'username="a\\"b\\\\c"' in quoted
    assert "käthe" in DigestMd5("käthe", "密码").respond(CHALLENGE).decode()
