"""Paths of the admin REST API. Only this module builds paths, so that no name in a path can change the resource.

Source: the server of Pulsar 4.0.8 (Jersey on Jetty). The server decodes a path once, and then resolves `.` and `..` as
folders, even if the dots were percent-encoded. The server refuses a zero byte. The server decodes the local name of a
topic as form data, in which `+` means a space. The server decodes names in schema paths twice.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote, urlencode

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import Namespace, TopicName

_FOLDERS: Final = ("", ".", "..")
_QUOTED: Final = re.compile(r"(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})*")
_QUERY: Final = re.compile(r"(?:[A-Za-z0-9._~=&+-]|%[0-9A-Fa-f]{2})*")


def resource(*names: str, **query: str) -> str:
    """Join percent-encoded names to a path, and append the query."""
    path = "/".join(quote(name, safe="") for name in names)
    return f"{path}?{urlencode(query)}" if query else path


def namespace_resource(namespace: Namespace, *names: str, **query: str) -> str:
    return resource("namespaces", namespace.tenant, namespace.name, *names, **query)


def topic_resource(topic: TopicName, *names: str, **query: str) -> str:
    """Build a path below a topic. The topic can be a partition of a partitioned topic."""
    return resource(*_folders(topic), topic.local, *names, **query)


def topics_resource(domain: str, namespace: Namespace, *names: str, **query: str) -> str:
    """Build a path below the topics of one domain in a namespace."""
    return resource(domain, namespace.tenant, namespace.name, *names, **query)


def schema_resource(topic: TopicName, *names: str, **query: str) -> str:
    folders = ("schemas", topic.namespace.tenant, topic.namespace.name)
    return resource(*folders, quote(topic.local, safe=""), *names, **query)


def transaction_resource(kind: str, topic: TopicName, *names: str) -> str:
    """Build a path below `/admin/v3` for the transactions of a topic."""
    return resource("transactions", kind, topic.namespace.tenant, topic.namespace.name, topic.local, *names)


def check_path(path: str, where: str) -> None:
    """Check that no name in the path can change the resource.

    Args:
        path: The path, without `/admin/<version>/`.
        where: The beginning of the error message.

    Raises:
        OptionError: A name is empty, is `.` or `..`, contains a zero byte, or is not percent-encoded. Or the query is
            not percent-encoded.

    """
    names, _, query = path.partition("?")
    for name in names.split("/"):
        meant = unquote(name)
        if meant in _FOLDERS or "\0" in meant or not _QUOTED.fullmatch(name):
            raise OptionError(
                f"{where}: expected a name that a path of the admin REST API can contain, got {meant!r}; choose a "
                f"name that is not empty, '.' or '..', and has no zero byte"
            )
    if not _QUERY.fullmatch(query):
        raise OptionError(
            f"{where}: expected a quoted query in the path, got {query!r}; report this as a bug"
        )


def _folders(topic: TopicName) -> tuple[str, str, str]:
    return topic.domain, topic.namespace.tenant, topic.namespace.name
