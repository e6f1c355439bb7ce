"""No name leads to another resource of the admin REST API than its own."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given, strategies as st
from property.topic_name_strategies import ANY_TEXTS, LOCALS, NAME_PARTS
from urllib3.util import parse_url

from pyspark_pulsar.client.admin.paths import (
    check_path,
    namespace_resource,
    resource,
    schema_resource,
    topic_resource,
    transaction_resource,
)
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import Namespace, TopicName

NAMESPACES = st.builds(Namespace, NAME_PARTS, NAME_PARTS)
TOPICS = st.builds(TopicName, st.just("persistent"), NAMESPACES, LOCALS)


def _arrives(path: str) -> list[str]:
    """Return the names in the URL that urllib3 sends, as a server gets them, which decodes a path once."""
    check_path(path, "asking")
    url = parse_url(f"http://host:1/admin/v2/{path}")
    assert url.host == "host"
    assert url.fragment is None
    assert url.path is not None
    return [unquote(name) for name in url.path.split("/")[3:]]


@given(TOPICS)
def test_names_of_topics(topic: TopicName) -> None:
    tenant, name = topic.namespace.tenant, topic.namespace.name
    assert _arrives(topic_resource(topic, "stats", a="b")) == [
        "persistent",
        tenant,
        name,
        topic.local,
        "stats",
    ]
    *folders, local, word = _arrives(schema_resource(topic, "schema"))
    assert [*folders, unquote(local), word] == ["schemas", tenant, name, topic.local, "schema"]
    assert _arrives(transaction_resource("k", topic, "7")) == [
        "transactions",
        "k",
        tenant,
        name,
        topic.local,
        "7",
    ]


@given(NAMESPACES, ANY_TEXTS)
def test_paths_of_unchecked_names(namespace: Namespace, name: str) -> None:
    """Tenants of a setting, keys of properties."""
    for path, folders in (
        (resource("namespaces", name), ["namespaces"]),
        (
            namespace_resource(namespace, "property", name),
            ["namespaces", namespace.tenant, namespace.name, "property"],
        ),
    ):
        try:
            arrived = _arrives(path)
        except OptionError:
            assert name in ("", ".", "..") or "\0" in name
        else:
            assert arrived == [*folders, name]


@given(st.lists(ANY_TEXTS, min_size=1, max_size=4).map("/".join))
def test_an_unquoted_path_leads_nowhere_else(path: str) -> None:
    try:
        arrived = _arrives(path)
    except OptionError:
        return
    assert arrived == [unquote(name) for name in path.partition("?")[0].split("/")]
    assert not {"", ".", ".."}.intersection(arrived)
