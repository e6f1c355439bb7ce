"""Parsers from the text of an option to its value.

For an invalid text, a parser raises ValueError with a description of the expected value. `parse_options` adds the key
and the invalid text, and docs/options.md shows the description. If the description ends in "such as" and an example,
the page shows the example as code. The parsers of `options.values` raise `OptionError` instead, with the key and a
longer explanation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

FOLDER_SCHEMES = ("file", "s3", "s3a", "gs", "hdfs", "viewfs")
_DURATION = re.compile(r"^(?P<number>\d{1,15})\s*(?P<unit>ms|s|m|min|h|d)?$")
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_QUOTED_TOPICS = ('"persistent://', '"non-persistent://', '"topic://')
# Matches obstore's names, such as account_key, sas_key, master_key and aws_sse_customer_key_base64, and Iceberg's
# names: credential, header.Authorization, adls.connection-string.
_SECRET_SETTING = re.compile(r"(?i)(key(_base64)?|credential|authorization|connection-string)$")
# The part of the default of spark.redaction.regex that matches names of settings.
_HIDDEN_BY_SPARK = re.compile(r"(?i)secret|password|token")
_USER_OF_URL = re.compile(r"://[^/]*@")
# Columns hold times in microseconds, as 64-bit integers.
_MOST_MILLISECONDS = (1 << 63) // 1000 - 1
_MOST_DIGITS = len(str(_MOST_MILLISECONDS))
_MOST_PORT = 65_535


def text(expected: str) -> Callable[[str], str]:
    """Return a parser that strips the blanks around a text.

    For an empty text, the parser raises ValueError with the text `expected`.
    """

    def parse(value: str) -> str:
        if not value.strip():
            raise ValueError(expected)
        return value.strip()

    return parse


def path(value: str) -> str:
    """Parse the path of a file with a private key.

    Refuse the key itself, because Spark would show the key. Pulsar's own clients accept a key here.
    """
    given = value.strip()
    if not given or given.startswith(("data:", "-----BEGIN")) or "\n" in given:
        raise ValueError("the path of a file instead of its content, such as /etc/pulsar/key.pem")
    return given


def url(*schemes: str) -> Callable[[str], str]:
    """Return a parser of an address with one of the schemes and one or more hosts, without a user."""

    def parse(value: str) -> str:
        address = value.strip().rstrip("/")
        scheme, separator, rest = address.partition("://")
        if not separator or scheme not in schemes or not rest or "@" in rest:
            raise ValueError(" or ".join(f"{scheme}://host:port" for scheme in schemes))
        if not all(_is_host(host) for host in rest.partition("/")[0].split(",")):
            raise ValueError(
                " or ".join(f"{scheme}://host:port" for scheme in schemes) + ", with a port from 1 to 65535"
            )
        return address

    return parse


def _is_host(text: str) -> bool:
    """Return whether the text is a host, `host:port` or `[IPv6]:port`."""
    host, separator, port = text.strip().rpartition(":")
    if not separator or "]" in port:
        return bool(text.strip())
    return bool(host) and port.isascii() and port.isdigit() and 0 < int(port) <= _MOST_PORT


def names(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise ValueError("a comma-separated list of names such as first,second")
    return names


def topic_name(value: str) -> str:
    """Parse the name of a topic, or a full name as a JSON string.

    As in Pulsar's Java client, blanks around a plain name are not part of the name. Blanks in a JSON string are part of
    the name. No text has both forms, because no full name begins with a quotation mark.
    """
    name = text("a topic name such as persistent://public/default/orders")(value)
    if not name.startswith(_QUOTED_TOPICS):
        return name
    try:
        document = json.loads(name)
    except ValueError:
        document = None
    if not isinstance(document, str) or not document:
        raise ValueError(
            'a topic name, or a full name as a JSON string such as "persistent://public/default/orders"'
        )
    return document


def topic_text(name: str) -> str:
    """Return the option text that `topic_name` parses into exactly the full name `name`."""
    return name if name == name.strip() else json.dumps(name)


def topic_names(value: str) -> tuple[str, ...]:
    """Parse a comma-separated list of names, or a JSON array of names.

    Only names in a JSON array can contain commas, or blanks at the start and end.
    """
    try:
        listed = json.loads(value)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        return names(value)
    if not listed or not all(isinstance(name, str) and name for name in listed):
        raise ValueError(
            'a comma-separated list of names, or a JSON array of them such as ["orders", "payments"]'
        )
    return tuple(listed)


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return a parser of a whole number with inclusive limits."""

    def parse(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return number

    return parse


def duration(value: str) -> int:
    """Parse a duration to milliseconds."""
    match = _DURATION.match(value.strip().lower())
    if match is None:
        raise ValueError("milliseconds, or a duration with the unit ms, s, m or min, h, or d, such as 30s")
    return int(match["number"]) * _MILLISECONDS[match["unit"] or "ms"]


def choice(*choices: str) -> Callable[[str], str]:
    """Return a parser that accepts a choice in any case, and returns the choice in the spelling of `choices`."""

    def parse(value: str) -> str:
        for choice in choices:
            if value.strip().lower() == choice.lower():
                return choice
        raise ValueError("one of " + ", ".join(choices) if len(choices) > 1 else choices[0])

    return parse


def folder(value: str) -> str:
    """Parse the path or URL of a folder. Refuse credentials in the URL, because logs and files contain the URL."""
    place = value.strip()
    scheme, separator, rest = place.partition("://")
    known = not separator or scheme in FOLDER_SCHEMES
    if not known or "@" in rest.partition("/")[0] or not (rest if separator else place):
        schemes = ", ".join(f"{name}://" for name in FOLDER_SCHEMES)
        raise ValueError(f"a path, or a URL without credentials ({schemes}), such as s3://bucket/folder")
    return place


def yes_or_no(value: str) -> bool:
    text = value.strip().lower()
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def paths_by_name(value: str) -> tuple[tuple[str, str], ...]:
    try:
        paths = json.loads(value)
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, dict) or not all(isinstance(path, str) and path for path in paths.values()):
        raise ValueError('a JSON object from key name to path, such as {"orders-key": "/keys/orders.pem"}')
    return tuple((name, path(file)) for name, file in paths.items())


def json_texts(example: str) -> Callable[[str], tuple[tuple[str, str], ...]]:
    """Return a parser of a JSON object of texts; its error shows the example."""

    def parse(value: str) -> tuple[tuple[str, str], ...]:
        try:
            texts = json.loads(value)
        except (ValueError, RecursionError):
            texts = None
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise ValueError(f"a JSON object of texts, such as {example}")
        return tuple(texts.items())

    return parse


def addresses_by_name(value: str) -> tuple[tuple[str, str], ...]:
    """Parse a JSON object from name to `host:port`."""
    given = json_texts('{"bookie-1": "bookie1.example:3181"}')(value)
    for name, address in given:
        if not _is_host(address) or not address.rpartition(":")[2].isdigit():
            raise ValueError(f"a JSON object of host:port, with a port from 1 to 65535 for {name!r}")
    return given


def json_document(example: str) -> Callable[[str], str]:
    """Return a parser that accepts every JSON object, and returns the text of the object unchanged."""

    def parse(value: str) -> str:
        try:
            is_object = isinstance(json.loads(value), dict)
        except (ValueError, RecursionError):
            is_object = False
        if not is_object:
            raise ValueError(f"a JSON object such as {example}")
        return value

    return parse


def store_settings(value: str) -> tuple[tuple[str, str], ...]:
    """Parse the settings of an object store."""
    settings = json_texts('{"region": "eu-west-1"}')(value)
    return _visible_settings(
        settings, "tieredStorageSecrets, or into the environment of driver and executors"
    )


def catalog_settings(value: str) -> tuple[tuple[str, str], ...]:
    """Parse the properties of a catalog of tables."""
    settings = json_texts('{"type": "rest", "uri": "https://iceberg.example"}')(value)
    return _visible_settings(settings, "tierCatalogSecrets, or into the environment")


def _visible_settings(settings: tuple[tuple[str, str], ...], place: str) -> tuple[tuple[str, str], ...]:
    """Return the settings. Raise ValueError if Spark would show a secret in the settings.

    Spark shows an option unless the option's key or value looks like a secret. The error advises the user to move
    secret settings to `place`.
    """
    exposed = [
        name
        for name, given in settings
        if (_SECRET_SETTING.search(name) and not _HIDDEN_BY_SPARK.search(name)) or _USER_OF_URL.search(given)
    ]
    if exposed:
        raise ValueError(
            f"no secrets, because Spark shows this option; move {', '.join(exposed)} into the option {place}"
        )
    return settings


def table_template(value: str) -> str:
    """Parse the template for the names of topics' tables, with fields for the parts of a topic's name."""
    given = value.strip()
    try:
        parts = given.format_map({"tenant": "t", "namespace": "n", "topic": "x"}).split(".")
    except (KeyError, ValueError, IndexError, AttributeError):
        parts = []
    if "{topic}" not in given or len(parts) == 1 or not all(parts):
        raise ValueError(
            "namespace and name of a table, with the field {topic} and optionally {tenant} and {namespace}, such as "
            "{tenant}_{namespace}.{topic}"
        )
    return given


def store_url(value: str) -> str:
    """Parse the address of offloaded ledgers. The reader of the ledgers checks the scheme."""
    given = value.strip()
    place = urlsplit(given)
    is_refused = not given or (place.scheme == "hdfs" and not _is_host(place.netloc))
    if is_refused or "@" in place.netloc or place.query or place.fragment:
        raise ValueError(
            "s3://bucket, gs://bucket, az://container, file:///folder or hdfs://host:port/folder, without user, query "
            "and fragment; put credentials into tieredStorageSecrets or the environment"
        )
    return given


def instant(value: str) -> int:
    """Parse a time to Unix milliseconds, rounded up, because publish times are whole milliseconds."""
    given = value.strip()
    digits = given.removeprefix("-")
    is_number = given.isascii() and digits.isdigit()
    if is_number and len(digits) <= _MOST_DIGITS and abs(int(given)) <= _MOST_MILLISECONDS:
        return int(given)
    try:
        moment = None if is_number else datetime.fromisoformat(given)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(
            f"Unix milliseconds up to {_MOST_MILLISECONDS}, or ISO 8601 with a zone such as 2026-01-31T08:00:00Z"
        )
    return -((_EPOCH - moment) // timedelta(milliseconds=1))
