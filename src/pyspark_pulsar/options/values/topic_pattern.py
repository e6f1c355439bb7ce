"""What `topicsPattern` says: which namespaces can hold topics of a pattern, and which of their topics match. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError, TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName, is_name
from pyspark_pulsar.options.parsers import text as not_empty
from pyspark_pulsar.pages import page

_PLAIN: Final = re.compile(r"[-=:.\w]+", re.ASCII)
_OPENING, _CLOSING = "([", ")]"
_PARTS: Final = 3  # tenant, namespace, local


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression for full topic names, as the whole of which it must match."""

    text: str
    tenant: str
    namespace: Namespace | None
    """The only one that can hold matches; None where the pattern speaks of several."""
    _of_namespace: re.Pattern[str] | None
    _of_name: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> TopicPattern:
        """`regex`, `tenant/regex/regex` or `persistent://tenant/regex/regex`. Raises `OptionError`, and of a plain
        tenant and namespace `TopicNameError`."""
        domain, separator, rest = text.partition("://")
        if not separator:
            domain, rest = "persistent", text
        if domain == "topic":
            raise OptionError(
                "option 'topicsPattern' names topic:// topics, expected persistent; scalable topics are found by their "
                f"names only: give them in option 'topics' ({page('scalable-topics')})"
            )
        if domain != "persistent":
            raise OptionError(
                f"option 'topicsPattern' names {domain}:// topics, expected persistent; non-persistent topics keep "
                f"no message that could be read again ({page('streaming', 'Non-persistent topics')})"
            )
        parts = _split(rest)
        if len(parts) == 1 and not separator:
            parts = ["public", "default", rest]
        tenant = parts[0]
        if len(parts) == 1 or not _PLAIN.fullmatch(tenant):
            raise OptionError(
                f"option 'topicsPattern' is {text!r}: expected 'regex', 'tenant/namespace/regex' or "
                f"'persistent://tenant/namespace/regex', where the tenant is plain text and the namespace may be a "
                f"regular expression too"
            )
        if not is_name(tenant):
            raise TopicNameError(f"option 'topicsPattern' says {tenant!r}: expected the name of a tenant")
        namespace = parts[1] if len(parts) == _PARTS else None
        if namespace is not None and _PLAIN.fullmatch(namespace):
            # A dot is a letter here: nobody means any character by it in a name that is plain otherwise.
            name = _compiled(text, f"{re.escape(f'{tenant}/{namespace}')}/(?:{parts[2]})")
            return cls(text, tenant, Namespace.parse(f"{tenant}/{namespace}"), None, name)
        of_namespace = None if namespace is None else _compiled(text, namespace)
        rest_of_it = _compiled(text, f"{re.escape(tenant)}/(?:{'/'.join(parts[1:])})")
        return cls(text, tenant, None, of_namespace, rest_of_it)

    def namespaces(self, of_tenant: Callable[[str], Iterable[Namespace]]) -> list[Namespace]:
        """Those that can hold matches, sorted. `of_tenant` lists a tenant's, and is called only where needed."""
        if self.namespace is not None:
            return [self.namespace]
        expression = self._of_namespace
        return sorted(
            namespace
            for namespace in of_tenant(self.tenant)
            if expression is None or expression.fullmatch(namespace.name)
        )

    def matches(self, topic: TopicName) -> bool:
        """`topic` without partition suffix. Pulsar's own topics never match."""
        return bool(self._of_name.fullmatch(f"{topic.namespace}/{topic.local}")) and not topic.is_system


def topic_pattern(value: str) -> TopicPattern:
    """The parser of the option. Raises `OptionError`."""
    return TopicPattern.parse(not_empty(value))


def _split(text: str) -> list[str]:
    """At the first two slashes that are not inside a group, a class or behind a backslash; at the first only, where a
    group holds the second: then only the whole can be matched."""
    parts: list[str] = []
    depth, begin = 0, 0
    escaped = False
    for index, letter in enumerate(text):
        if escaped or letter == "\\":
            escaped = not escaped
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "/" and depth <= 0 and len(parts) < _PARTS - 1:
            parts.append(text[begin:index])
            begin = index + 1
    return [*parts, text[begin:]]


def _compiled(pattern: str, expression: str) -> re.Pattern[str]:
    try:
        # Names can have line ends, and what matches all names must not leave those out.
        return re.compile(expression, re.DOTALL)
    except re.error as fault:
        raise OptionError(
            f"option 'topicsPattern' is {pattern!r}, which is no regular expression: {fault}"
        ) from None
