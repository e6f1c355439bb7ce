"""An option as a field of a dataclass, and what options ask of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from pyspark_pulsar.errors import OptionError


@dataclass(frozen=True, slots=True)
class OptionField:
    """How one option is spelled, read and explained."""

    key: str
    parse: Callable[[str], Any]
    doc: str
    aliases: tuple[str, ...] = ()
    secret: bool = False
    """The value may hold a secret: it appears in no error, log or `repr`, and sessions are told to hide it
    (`secret_keys`)."""


def option(
    key: str,
    parse: Callable[[str], Any],
    doc: str,
    *,
    default: Any = MISSING,
    aliases: tuple[str, ...] = (),
    secret: bool = False,
) -> Any:
    """A field of a dataclass of options; without `default` the option is required. `doc` is a cell of docs/options.md,
    and `parse` raises ValueError that says what it expects."""
    metadata = {"option": OptionField(key, parse, doc, aliases, secret)}
    if default is MISSING:
        return field(metadata=metadata, repr=not secret)
    return field(default=default, metadata=metadata, repr=not secret)


def option_fields(scope: type[Any]) -> dict[str, OptionField]:
    """Field name to option, in the order in which the documentation shows them."""
    return {field.name: field.metadata["option"] for field in fields(scope)}


def secret_keys(*scopes: type[Any]) -> tuple[str, ...]:
    """Keys and aliases of the options that may hold secrets, each once."""
    options = [option for scope in scopes for option in option_fields(scope).values() if option.secret]
    return tuple(dict.fromkeys(key for option in options for key in (option.key, *option.aliases)))


def exactly_one(options: object, names: Iterable[str]) -> None:
    """Raises OptionError unless one of the fields `names` is given; None means not given."""
    table = option_fields(type(options))
    keys = [table[name].key for name in names]
    given = [table[name].key for name in names if getattr(options, name) is not None]
    if not given:
        raise OptionError(f"none of the options {', '.join(keys)} is given; expected exactly one of them")
    if len(given) > 1:
        raise OptionError(
            f"options {' and '.join(given)} contradict each other; expected exactly one of {', '.join(keys)}"
        )


def at_most_one(options: object, names: Iterable[str]) -> None:
    """Raises OptionError where more than one of the fields `names` is given; None means not given."""
    table = option_fields(type(options))
    given = [table[name].key for name in names if getattr(options, name) is not None]
    if len(given) > 1:
        raise OptionError(f"options {' and '.join(given)} contradict each other; expected only one of them")


def both_or_none(options: object, names: Iterable[str]) -> None:
    """Raises OptionError where some of the fields `names` are given and some are None."""
    table = option_fields(type(options))
    missing = [table[name].key for name in names if getattr(options, name) is None]
    given = [table[name].key for name in names if getattr(options, name) is not None]
    if missing and given:
        raise OptionError(
            f"option {missing[0]!r} is missing: expected it beside {given[0]}, got {given[0]} alone"
        )
