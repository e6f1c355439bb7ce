"""Paths of the admin REST API, made of names in this one place, so that no name leads to another resource.

Source: the server of Pulsar 4.0.8 (Jersey on Jetty). It decodes a path once, then takes `.` and `..` for folders,
quoted or not, and refuses a zero byte; it decodes the local names of topics as a part of a form, and in paths of
schemas twice.
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
    """The path of these names, one below the other, and behind it what is asked of it."""
    path = "/".join(quote(name, safe="") for name in names)
    return f"{path}?{urlencode(query)}" if query else path


def namespace_resource(namespace: Namespace, *names: str, **query: str) -> str:
    return resource("namespaces", namespace.tenant, namespace.name, *names, **query)


def topic_resource(topic: TopicName, *names: str, **query: str) -> str:
    """Of the topic with just this name: of one partition, where it is one's."""
    return resource(*_folders(topic), topic.local, *names, **query)


def topics_resource(domain: str, namespace: Namespace, *names: str, **query: str) -> str:
    """Of all topics of a namespace."""
    return resource(domain, namespace.tenant, namespace.name, *names, **query)


def schema_resource(topic: TopicName, *names: str, **query: str) -> str:
    folders = ("schemas", topic.namespace.tenant, topic.namespace.name)
    return resource(*folders, quote(topic.local, safe=""), *names, **query)


def transaction_resource(kind: str, topic: TopicName, *names: str) -> str:
    """Below `/admin/v3`."""
    return resource("transactions", kind, topic.namespace.tenant, topic.namespace.name, topic.local, *names)


def check_path(path: str, where: str) -> None:
    """Raises `OptionError` for a path in which a name would lead elsewhere; `where` begins the message."""
    names, _, query = path.partition("?")
    for name in names.split("/"):
        meant = unquote(name)
        if meant in _FOLDERS or "\0" in meant or not _QUOTED.fullmatch(name):
            raise OptionError(
                f"{where}: expected a name that the admin REST API has a path for, got {meant!r}; names that are "
                f"empty, '.' or '..', and those with a zero byte, have none"
            )
    if not _QUERY.fullmatch(query):
        raise OptionError(f"{where}: expected a question that is quoted, got {query!r}; please report this")


def _folders(topic: TopicName) -> tuple[str, str, str]:
    return topic.domain, topic.namespace.tenant, topic.namespace.name
