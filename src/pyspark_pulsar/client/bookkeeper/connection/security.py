"""TLS and authentication settings for connections to bookies, built from the options."""

from __future__ import annotations

from functools import lru_cache, partial

from pyspark_pulsar.client.bookkeeper.connection.channel import PLAIN, BookieSecurity
from pyspark_pulsar.client.security.credentials import certificate_files, user_and_password
from pyspark_pulsar.client.security.tls import Tls
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.bookies import PARAMETERS


def bookie_security(options: ReadOptions) -> BookieSecurity:
    """Build the settings from the options, without reading a file.

    Raises:
        OptionError: An option has an unusable value.

    """
    parameters = options.bookie_auth_parameters
    login = (
        partial(user_and_password, parameters, f"option {PARAMETERS!r}") if parameters is not None else None
    )
    if not options.bookies_use_tls:
        return PLAIN if login is None else BookieSecurity(login=login)
    own = certificate_files(options)
    if options.bookie_certificate is not None and options.bookie_key is not None:
        own = options.bookie_certificate, options.bookie_key
    verify = options.bookie_verify_hostname
    return BookieSecurity(
        _tls(
            options.bookie_trust_certs or options.tls_trust_certs,
            own,
            options.tls_allow_insecure,
            options.tls_verify_hostname if verify is None else verify,
        ),
        login,
    )


@lru_cache(maxsize=16)
def _tls(trust_certs: str | None, own: tuple[str, str] | None, insecure: bool, verify_hostname: bool) -> Tls:
    """Return one instance for all splits of a process, because an instance caches the contents of the files."""
    return Tls(trust_certs, own, insecure=insecure, verify_hostname=verify_hostname)
