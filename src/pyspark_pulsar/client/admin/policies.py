"""Requests to the admin REST API about policies of namespaces and topics.

Source of the resources: `Namespaces` and `PersistentTopics` of Pulsar's admin API v2 (4.0.8).
"""

from __future__ import annotations

from typing import Any

from pyspark_pulsar.client.admin.answers import reason_of
from pyspark_pulsar.client.admin.namespaces import no_namespace
from pyspark_pulsar.client.admin.paths import namespace_resource, topic_resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.errors import OptionError, TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicName

_BAD_REQUEST, _NOT_FOUND, _PRECONDITION_FAILED = 400, 404, 412


class Policies:
    """Requests about policies, for `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def set_retention(self, where: Namespace | TopicName, minutes: int, megabytes: int) -> None:
        """Set the retention: for how long, and up to which size, brokers retain acknowledged messages.

        Args:
            where: The namespace or topic.
            minutes: The duration in minutes. The value -1 means no limit.
            megabytes: The size in MiB. The value -1 means no limit. If `minutes` and `megabytes` are 0, brokers retain
                no acknowledged messages.

        """
        body = {"retentionTimeInMinutes": minutes, "retentionSizeInMB": megabytes}
        self._set("POST", where, "retention", body)

    def remove_retention(self, where: Namespace | TopicName) -> None:
        """Remove the retention from `where`, so that the retention of the namespace or the broker applies again."""
        self._set("DELETE", where, "retention")

    def set_message_ttl(self, where: Namespace | TopicName, seconds: int) -> None:
        """Set the time in seconds after which brokers acknowledge messages on their own. The value 0 means never."""
        if isinstance(where, Namespace):
            self._set("POST", where, "messageTTL", seconds)
        else:
            self._set("POST", where, "messageTTL", messageTTL=str(seconds))

    def remove_message_ttl(self, where: Namespace | TopicName) -> None:
        self._set("DELETE", where, "messageTTL")

    def set_compaction_threshold(self, topic: TopicName, size: int) -> None:
        """Set the backlog size, in bytes, at which the broker compacts the topic. The value 0 means never."""
        self._set("POST", topic, "compactionThreshold", size)

    def remove_compaction_threshold(self, topic: TopicName) -> None:
        self._set("DELETE", topic, "compactionThreshold")

    def applied(self, topic: TopicName, name: str) -> Any:
        """Return the effective policy, set on the topic, the namespace or the brokers. Return None if no policy is set.

        Args:
            topic: The topic.
            name: The name of the topic's resource, such as `retention` or `messageTTL`.

        """
        return self._rest.get(
            topic_resource(topic, name, applied="true"), f"reading the policy {name} of {topic}"
        )

    def own(self, where: Namespace | TopicName, name: str) -> Any:
        """Return the policy that is set on the topic or namespace itself. Return None if no policy is set there."""
        return self._rest.get(_policy(where, name), f"reading the policy {name} of {where}")

    def _set(
        self, method: str, where: Namespace | TopicName, policy: str, body: Any = None, **query: str
    ) -> None:
        verb = "setting" if method == "POST" else "removing"
        doing = f"{verb} the policy {policy} of {where}"
        expected = (_NOT_FOUND, _BAD_REQUEST, _PRECONDITION_FAILED)
        change = self._rest.change(method, _policy(where, policy, **query), doing, body, expected=expected)
        if change.status == _NOT_FOUND and isinstance(where, Namespace):
            raise no_namespace(doing)
        if change.status == _NOT_FOUND:
            raise TopicNotFoundError(f"{doing}: expected an existing topic, got none; check the name")
        if change.status in expected:
            raise OptionError(
                f"{doing}: expected a value that the broker accepts, got a refusal: {reason_of(change.text)}; "
                f"choose another value"
            )


def _policy(where: Namespace | TopicName, name: str, **query: str) -> str:
    if isinstance(where, Namespace):
        return namespace_resource(where, name, **query)
    return topic_resource(where, name, **query)
