"""Data keys for encryption, wrapped with RSA public keys: OAEP with SHA-1 and MGF1, as in Pulsar's clients.

No key material is logged or put into errors.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.errors import OptionError, PrerequisiteMissing
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.options.values.regular_file import read_regular_file

_OPTION: Final = "pulsar.producer.cryptoKeyReader"
_KEY_BYTES: Final = 32
_ADVICE: Final = "install it on driver and executors with `pip install 'pyspark-pulsar[encryption]'`"


@dataclass(frozen=True)
class DataKey:
    """The data key of one encoder, and the wrapped data key for each public key.

    Use a data key in one encoder only, because the nonces of each encoder are consecutive numbers from the same start.
    `wrapped` contains a pair for each public key: the name of the public key, and the wrapped data key.
    """

    key: bytes = field(repr=False)
    wrapped: tuple[tuple[str, bytes], ...]


def check_encryption(options: WriteOptions) -> None:
    """Check that the package `cryptography` is installed if the options request encryption.

    The check runs on the driver before any message is sent. The check does not read the key files, because only
    executors need the files.

    Raises:
        PrerequisiteMissing: The package is not installed.

    """
    if options.encryption_keys and importlib.util.find_spec("cryptography") is None:
        raise PrerequisiteMissing(
            f"option 'pulsar.producer.encryptionKeys': expected the package cryptography to encrypt messages, got "
            f"none; {_ADVICE}"
        )


def new_data_key(options: WriteOptions) -> DataKey | None:
    """Return a new data key, or None if messages are not encrypted. This function runs on executors only.

    Raises:
        OptionError: A key file cannot be used.
        PrerequisiteMissing: The package `cryptography` is not installed on this executor.

    """
    if not options.encryption_keys:
        return None
    paths = dict(options.crypto_public_keys)
    key = os.urandom(_KEY_BYTES)
    wrapped = [
        (name, _wrap(key, name, paths.get(name, options.crypto_default_public_key or "")))
        for name in options.encryption_keys
    ]
    return DataKey(key, tuple(wrapped))


def _wrap(key: bytes, name: str, path: str) -> bytes:
    where = f"option '{_OPTION}.*', key {name!r}"
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError:
        raise PrerequisiteMissing(
            f"{where}: expected the package cryptography, got none on this executor; {_ADVICE}"
        ) from None
    try:
        text = read_regular_file(path)
    except (OSError, ValueError) as fault:
        raise OptionError(
            f"{where}: expected a public key at {path!r} on the executor, got none ({fault}); copy "
            f"the key file to every executor (nothing was sent)"
        ) from None
    try:
        public = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm) as fault:
        raise OptionError(
            f"{where}: expected an RSA public key in PEM format at {path}, got a file that cannot be read as one "
            f"({type(fault).__name__}); convert the key file to PEM (nothing was sent)"
        ) from None
    if not isinstance(public, rsa.RSAPublicKey):
        raise OptionError(
            f"{where}: expected an RSA public key at {path}, got a key of another kind; use an RSA "
            f"key pair (nothing was sent)"
        )
    return public.encrypt(key, padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), label=None))  # noqa: S303 -- the format's
