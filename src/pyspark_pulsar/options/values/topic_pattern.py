"""The value of `topicsPattern`: which namespaces can contain matches, and which topics match. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError, TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName, is_name
from pyspark_pulsar.options.parsers import text
from pyspark_pulsar.pages import page

_PLAIN: Final = re.compile(r"[-=:.\w]+", re.ASCII)
_OPENING, _CLOSING = "([", ")]"
_PARTS: Final = 3  # tenant, namespace, local
_PATTERN: Final = text("a regular expression such as persistent://public/default/orders-.*")


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression that matches whole topic names.

    Attributes:
        text: The text of the option.
        tenant: The tenant of all matches.
        namespace: The only namespace that can contain matches; None if several can.

    """

    text: str
    tenant: str
    namespace: Namespace | None
    _namespace_expression: re.Pattern[str] | None
    _name_expression: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> TopicPattern:
        """Parse `regex`, `tenant/regex/regex` or `persistent://tenant/regex/regex`.

        Raises:
            OptionError: If the text has another form or is not a regular expression.
            TopicNameError: If a plain tenant or namespace is not a valid name.

        """
        domain, separator, rest = text.partition("://")
        if not separator:
            domain, rest = "persistent", text
        if domain == "topic":
            raise OptionError(
                "option 'topicsPattern' names topic:// topics, expected persistent; a pattern does not find scalable "
                f"topics: list their names in option 'topics' ({page('scalable-topics')})"
            )
        if domain != "persistent":
            raise OptionError(
                f"option 'topicsPattern' names {domain}:// topics, expected persistent; non-persistent topics store "
                f"no messages ({page('streaming', 'Non-persistent topics')})"
            )
        parts = _split(rest)
        if len(parts) == 1 and not separator:
            parts = ["public", "default", rest]
        tenant = parts[0]
        if len(parts) == 1 or not _PLAIN.fullmatch(tenant):
            raise OptionError(
                f"option 'topicsPattern' is {text!r}: expected 'regex', 'tenant/namespace/regex' or "
                f"'persistent://tenant/namespace/regex', where the tenant is plain text and the namespace may be a "
                f"regular expression"
            )
        if not is_name(tenant):
            raise TopicNameError(
                f"option 'topicsPattern' names the tenant {tenant!r}: expected the name of a tenant, such as public"
            )
        namespace = parts[1] if len(parts) == _PARTS else None
        if namespace is not None and _PLAIN.fullmatch(namespace):
            # In an otherwise plain name, users mean a dot as a dot, and not as any character.
            name = _compiled(text, f"{re.escape(f'{tenant}/{namespace}')}/(?:{parts[2]})")
            return cls(text, tenant, Namespace.parse(f"{tenant}/{namespace}"), None, name)
        namespace_expression = None if namespace is None else _compiled(text, namespace)
        name_expression = _compiled(text, f"{re.escape(tenant)}/(?:{'/'.join(parts[1:])})")
        return cls(text, tenant, None, namespace_expression, name_expression)

    def namespaces(self, of_tenant: Callable[[str], Iterable[Namespace]]) -> list[Namespace]:
        """Return the namespaces that can contain matches, sorted.

        Args:
            of_tenant: A function that lists the namespaces of a tenant. The method calls the function only if the
                pattern does not name the namespace.

        """
        if self.namespace is not None:
            return [self.namespace]
        expression = self._namespace_expression
        return sorted(
            namespace
            for namespace in of_tenant(self.tenant)
            if expression is None or expression.fullmatch(namespace.name)
        )

    def matches(self, topic: TopicName) -> bool:
        """Return whether a topic name without a partition suffix matches. System topics of Pulsar never match."""
        return (
            bool(self._name_expression.fullmatch(f"{topic.namespace}/{topic.local}")) and not topic.is_system
        )


def topic_pattern(value: str) -> TopicPattern:
    """Parse the option `topicsPattern`. Raise `OptionError` if the pattern is invalid."""
    return TopicPattern.parse(_PATTERN(value))


def _split(text: str) -> list[str]:
    """Split a pattern into tenant, namespace and local name.

    The separators are the first two slashes that are not escaped and not inside a group or a character class. If only
    one such slash exists, the result has two parts: the tenant, and an expression for the namespace and the local name.
    """
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
        # Topic names can contain line ends, and a dot in the pattern must match a line end too.
        return re.compile(expression, re.DOTALL)
    except re.error as fault:
        raise OptionError(
            f"option 'topicsPattern' is {pattern!r}: expected a regular expression ({fault})"
        ) from None
