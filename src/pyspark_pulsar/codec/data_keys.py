"""Private keys, and the data keys that private keys unwrap.

This module runs on executors only, except `check_key_options`. A producer makes a new AES key, the data key, every few
hours. The producer wraps the data key with each configured RSA public key, and sends the wrapped data keys with every
message. The wrapping is OAEP with SHA-1 and MGF1, as in `MessageCryptoBc` of Pulsar's Java client and in the C++
client. The kernel decrypts the payload. No key material is logged or put into errors.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark_pulsar.errors import OptionError, PrerequisiteMissing
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.regular_file import read_regular_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_OPTION = "pulsar.consumer.cryptoKeyReader"


def check_key_options(options: ReadOptions) -> None:
    """Check that the package `cryptography` is installed if private keys are configured.

    The check runs on the driver before any message is read. The check does not read the key files, because only
    executors need the files.

    Raises:
        PrerequisiteMissing: The package is not installed.

    """
    if options.crypto_default_private_key is None and not options.crypto_private_keys:
        return
    if importlib.util.find_spec("cryptography") is None:
        raise PrerequisiteMissing(
            f"option '{_OPTION}.*': expected the package cryptography to decrypt messages, got none; "
            f"install it on driver and executors with `pip install 'pyspark-pulsar[encryption]'`"
        )


class DataKeys:
    """The private keys that the options name. A key file is read when a message first needs the key."""

    def __init__(self, default_path: str | None, paths: Mapping[str, str]) -> None:
        self._default_path = default_path
        self._paths = dict(paths)
        self._loaded: dict[str, RSAPrivateKey] = {}

    def unwrap(self, name: str, wrapped: bytes) -> bytes | str:
        """Return the data key that was wrapped for the key `name`. If unwrapping fails, return the reason as a text.

        Raises:
            OptionError: A key file cannot be used.
            PrerequisiteMissing: The package `cryptography` is not installed on this executor.

        """
        path = self._paths.get(name, self._default_path)
        if path is None:
            return f"no private key is configured for {name!r}"
        private_key = self._private_key(name, path)
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), label=None)  # noqa: S303 -- the format's
        try:
            return private_key.decrypt(wrapped, oaep)
        except ValueError:
            return f"the private key for {name!r} does not unwrap the data key, because it belongs to another key pair"

    def _private_key(self, name: str, path: str) -> RSAPrivateKey:
        if path not in self._loaded:
            self._loaded[path] = _load(name, path)
        return self._loaded[path]


def _load(name: str, path: str) -> RSAPrivateKey:
    where = f"option '{_OPTION}.*', key {name!r}"
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric import rsa
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise PrerequisiteMissing(
            f"{where}: expected the package cryptography to decrypt messages, got none on this executor; "
            f"install it there with `pip install 'pyspark-pulsar[encryption]'`"
        ) from None
    try:
        text = read_regular_file(path)
    except (OSError, ValueError) as fault:
        raise OptionError(
            f"{where}: expected a private key at {path!r} on the executor, got none ({fault}); copy "
            f"the key file to every executor"
        ) from None
    try:
        key = load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as fault:
        raise OptionError(
            f"{where}: expected an RSA private key in PEM format without a passphrase at {path}, got a file that "
            f"cannot be read as one ({type(fault).__name__}); convert the key file to PEM without a passphrase"
        ) from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise OptionError(
            f"{where}: expected an RSA private key at {path}, got a key of another kind "
            f"({type(key).__name__.strip('_')}); use an RSA key pair, because messages that are encrypted for elliptic "
            f"curve keys cannot be read"
        )
    return key
