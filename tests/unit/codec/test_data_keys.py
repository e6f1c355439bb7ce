"""Unwrapping of data keys, and the errors for private keys that cannot do it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from pyspark_pulsar.codec.data_keys import DataKeys, check_key_options
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ReadOptions

DATA_KEY = bytes(range(32))
OAEP = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), label=None)


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def path(key: rsa.RSAPrivateKey, tmp_path_factory: pytest.TempPathFactory) -> str:
    return _write(tmp_path_factory.mktemp("keys") / "private.pem", key)


def _write(
    file: Path,
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey,
    lock: serialization.KeySerializationEncryption | None = None,
) -> str:
    form = serialization.PrivateFormat.PKCS8
    lock = lock or serialization.NoEncryption()
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, lock))
    return str(file)


def test_by_name_and_by_default(key: rsa.RSAPrivateKey, path: str) -> None:
    wrapped = key.public_key().encrypt(DATA_KEY, OAEP)
    assert DataKeys(None, {"a": path}).unwrap("a", wrapped) == DATA_KEY
    assert DataKeys(path, {"a": "/no/such/file"}).unwrap("b", wrapped) == DATA_KEY
    assert DataKeys(None, {"a": path}).unwrap("b", wrapped) == "no private key is configured for 'b'"


def test_another_pair(path: str) -> None:
    other = rsa.generate_private_key(65537, 2048)
    reason = DataKeys(path, {}).unwrap("a", other.public_key().encrypt(DATA_KEY, OAEP))
    assert isinstance(reason, str)
    assert "another key pair" in reason
    assert isinstance(DataKeys(path, {}).unwrap("a", b"no ciphertext"), str)


def test_a_file_is_read_once(key: rsa.RSAPrivateKey, tmp_path: Path) -> None:
    path = _write(tmp_path / "private.pem", key)
    keys = DataKeys(path, {})
    wrapped = key.public_key().encrypt(DATA_KEY, OAEP)
    assert keys.unwrap("a", wrapped) == DATA_KEY
    Path(path).unlink()
    assert keys.unwrap("b", wrapped) == DATA_KEY


def test_files_that_are_no_rsa_private_key(tmp_path: Path, key: rsa.RSAPrivateKey) -> None:
    (tmp_path / "text.pem").write_text("text")
    public = tmp_path / "public.pem"
    info = serialization.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, info))
    cases = [
        (str(tmp_path / "absent.pem"), "No such file"),
        (str(tmp_path), "directory"),
        (str(tmp_path / "text.pem"), "cannot be read as one"),
        (str(public), "cannot be read as one"),
        (_write(tmp_path / "locked.pem", key, serialization.BestAvailableEncryption(b"x")), "passphrase"),
        (_write(tmp_path / "curve.pem", ec.generate_private_key(ec.SECP256R1())), "elliptic curve"),
    ]
    for path, reason in cases:
        with pytest.raises(OptionError, match=reason) as caught:
            DataKeys(path, {}).unwrap("the-name", b"wrapped")
        assert path in str(caught.value)
        assert "the-name" in str(caught.value)


def test_without_the_package() -> None:
    program = """
import sys
sys.modules["cryptography"] = None
sys.meta_path.insert(0, type("Absent", (), {"find_spec": staticmethod(lambda name, *_: None)}))
from pyspark_pulsar.codec.data_keys import DataKeys
from pyspark_pulsar.errors import PrerequisiteMissing
try:
    DataKeys("/no/such/file", {}).unwrap("a", b"wrapped")
except PrerequisiteMissing as fault:
    assert "pyspark-pulsar[encryption]" in str(fault)
    print("told")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "told\n"


def test_the_driver_needs_the_package_only_if_there_are_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark_pulsar.errors import PrerequisiteMissing

    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    options = ReadOptions(service_url="pulsar://localhost:6650", topic="t")
    check_key_options(options)
    with_keys = ReadOptions(
        service_url="pulsar://localhost:6650", topic="t", crypto_private_keys=(("a", "/k.pem"),)
    )
    with pytest.raises(PrerequisiteMissing, match=r"pyspark-pulsar\[encryption\]"):
        check_key_options(with_keys)
