"""From the text of an option to its value.

A parser raises ValueError whose text says what was expected; `parse_options` adds the key and what was given, and
docs/options.md shows it. One that says more of its own (`options.values`) raises an `OptionError` that names the key.
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
# By obstore's names: account_key, sas_key, master_key, service_account_key, aws_sse_customer_key_base64 and the like;
# by Iceberg's: credential, header.Authorization, adls.connection-string.
_SECRET_SETTING = re.compile(r"(?i)(key(_base64)?|credential|authorization|connection-string)$")
# Of Spark's default for spark.redaction.regex.
_HIDDEN_BY_SPARK = re.compile(r"(?i)secret|password|token")
_USER_OF_URL = re.compile(r"://[^/]*@")
# Columns hold times as microseconds in 64 bits.
_MOST_MILLISECONDS = (1 << 63) // 1000 - 1
_MOST_DIGITS = len(str(_MOST_MILLISECONDS))
_MOST_PORT = 65_535


def text(value: str) -> str:
    if not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def path(value: str) -> str:
    """A path of a file with a key. The key itself, which Pulsar's clients take too, is refused: it would be shown."""
    given = text(value)
    if given.startswith(("data:", "-----BEGIN")) or "\n" in given:
        raise ValueError("the path of a file, and not what it holds")
    return given


def url(*schemes: str) -> Callable[[str], str]:
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
        raise ValueError("a comma-separated list of names")
    return names


def topic_name(value: str) -> str:
    """Blanks around a name do not belong to it, as in Pulsar's Java client; in a text of JSON they do. No full name
    begins with a quotation mark."""
    name = text(value)
    if not name.startswith(_QUOTED_TOPICS):
        return name
    try:
        document = json.loads(name)
    except ValueError:
        document = None
    if not isinstance(document, str) or not document:
        raise ValueError("a name, or a full name as a text of JSON")
    return document


def topic_text(name: str) -> str:
    """A full name, as `topic_name` takes it letter by letter."""
    return name if name == name.strip() else json.dumps(name)


def topic_names(value: str) -> tuple[str, ...]:
    """A list with commas, or names with blanks around them and commas in JSON."""
    try:
        listed = json.loads(value)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        return names(value)
    if not listed or not all(isinstance(name, str) and name for name in listed):
        raise ValueError("a comma-separated list of names, or a JSON array of them")
    return tuple(listed)


def whole(least: int, most: int) -> Callable[[str], int]:
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
    """Milliseconds."""
    match = _DURATION.match(value.strip().lower())
    if match is None:
        raise ValueError("a duration such as 500ms, 30s, 15m, 1h or 1d")
    return int(match["number"]) * _MILLISECONDS[match["unit"] or "ms"]


def choice(*choices: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        for choice in choices:
            if value.strip().lower() == choice.lower():
                return choice
        raise ValueError("one of " + ", ".join(choices))

    return parse


def folder(value: str) -> str:
    """A path, or a URL of a place for files. Credentials in it are refused, since it is shown and written down."""
    place = value.strip()
    scheme, separator, rest = place.partition("://")
    known = not separator or scheme in FOLDER_SCHEMES
    if not known or "@" in rest.partition("/")[0] or not (rest if separator else place):
        names = ", ".join(f"{name}://" for name in FOLDER_SCHEMES)
        raise ValueError(f"a path, or a URL without credentials that begins with one of {names}")
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


def json_texts(value: str) -> tuple[tuple[str, str], ...]:
    try:
        texts = json.loads(value)
    except (ValueError, RecursionError):
        texts = None
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError('a JSON object of texts, such as {"name": "value"}')
    return tuple(texts.items())


def addresses_by_name(value: str) -> tuple[tuple[str, str], ...]:
    """A JSON object of `host:port`."""
    given = json_texts(value)
    for name, address in given:
        if not _is_host(address) or not address.rpartition(":")[2].isdigit():
            raise ValueError(f"a JSON object of host:port, with a port from 1 to 65535 for {name!r}")
    return given


def json_document(value: str) -> str:
    """A JSON object, whose meaning is known where it is used."""
    try:
        is_object = isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise ValueError("a JSON object")
    return value


def store_settings(value: str) -> tuple[tuple[str, str], ...]:
    """Settings of an object store."""
    return _shown_settings(value, "tieredStorageSecrets, or into the environment of driver and executors")


def catalog_settings(value: str) -> tuple[tuple[str, str], ...]:
    """Properties of a catalog of tables."""
    return _shown_settings(value, "tierCatalogSecrets, or into the environment")


def _shown_settings(value: str, place: str) -> tuple[tuple[str, str], ...]:
    """A JSON object of texts. Spark shows options unless key or value look like a secret, so those that hold one and do
    not look like it are refused; they belong into `place`."""
    settings = json_texts(value)
    unseen = [
        name
        for name, given in settings
        if (_SECRET_SETTING.search(name) and not _HIDDEN_BY_SPARK.search(name)) or _USER_OF_URL.search(given)
    ]
    if unseen:
        raise ValueError(
            f"settings that Spark may show; {', '.join(unseen)} may not be, and belongs into the option {place}"
        )
    return settings


def table_template(value: str) -> str:
    """The name of a topic's table, with places for the parts of the topic's name."""
    given = text(value)
    try:
        parts = given.format_map({"tenant": "t", "namespace": "n", "topic": "x"}).split(".")
    except (KeyError, ValueError, IndexError, AttributeError):
        parts = []
    if "{topic}" not in given or len(parts) == 1 or not all(parts):
        raise ValueError(
            "a namespace and the name of a table, with {topic} in it and where needed {tenant} and {namespace}, such "
            "as {tenant}_{namespace}.{topic}"
        )
    return given


def store_url(value: str) -> str:
    """Where offloaded ledgers lie; that it is a known place is checked where it is used."""
    given = text(value)
    place = urlsplit(given)
    is_refused = place.scheme == "hdfs" and not _is_host(place.netloc)
    if is_refused or "@" in place.netloc or place.query or place.fragment:
        raise ValueError(
            "s3://bucket, gs://bucket, az://container, file:///folder or hdfs://host:port/folder without user, query "
            "and fragment; credentials belong into tieredStorageSecrets or the environment"
        )
    return given


def instant(value: str) -> int:
    """Unix milliseconds; of a time between two of them the later one, as publish times are whole milliseconds."""
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
