"""Options as fields of dataclasses, and checks of options that require or exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from pyspark_pulsar.errors import OptionError


@dataclass(frozen=True, slots=True)
class OptionField:
    """The key, parser and documentation of one option.

    Attributes:
        unset: The behavior without the option, in words; empty if a default value expresses the behavior.
        secret: Whether the value can contain a secret. No error, log or `repr` shows the value of a secret option.
            Sessions redact the options in `secret_keys`.

    """

    key: str
    parse: Callable[[str], Any]
    doc: str
    unset: str = ""
    aliases: tuple[str, ...] = ()
    secret: bool = False


def option(
    key: str,
    parse: Callable[[str], Any],
    doc: str,
    *,
    default: Any = MISSING,
    unset: str = "",
    aliases: tuple[str, ...] = (),
    secret: bool = False,
) -> Any:
    """Define an option as a field of a dataclass. Without `default` the option is required.

    Args:
        key: The option's name in Spark; keys are case-insensitive.
        parse: A function that converts the text of the option. For an invalid text, the function raises ValueError with
            a description of the expected value.
        doc: The meaning of the option, for docs/options.md.
        default: The value of the field if the option is not set.
        unset: The default in words, for an option whose default is None or empty.
        aliases: Further names of the option.
        secret: See `OptionField`.

    """
    metadata = {"option": OptionField(key, parse, doc, unset, aliases, secret)}
    if default is MISSING:
        return field(metadata=metadata, repr=not secret)
    return field(default=default, metadata=metadata, repr=not secret)


def option_fields(scope: type[Any]) -> dict[str, OptionField]:
    """Return the options of a class by field name, in the order in which the documentation shows them."""
    return {field.name: field.metadata["option"] for field in fields(scope)}


def secret_keys(*scopes: type[Any]) -> tuple[str, ...]:
    """Return the keys and aliases of all options that can contain secrets, without duplicates."""
    options = [option for scope in scopes for option in option_fields(scope).values() if option.secret]
    return tuple(dict.fromkeys(key for option in options for key in (option.key, *option.aliases)))


def exactly_one(options: object, names: Iterable[str]) -> None:
    """Raise OptionError unless exactly one of the fields `names` is set; None means not set."""
    table = option_fields(type(options))
    keys = [table[name].key for name in names]
    given = [table[name].key for name in names if getattr(options, name) is not None]
    if not given:
        raise OptionError(f"none of the options {', '.join(keys)} is set; set exactly one of them")
    if len(given) > 1:
        raise OptionError(
            f"options {' and '.join(given)} conflict with each other; set exactly one of {', '.join(keys)}"
        )


def at_most_one(options: object, names: Iterable[str]) -> None:
    """Raise OptionError if more than one of the fields `names` is set; None means not set."""
    table = option_fields(type(options))
    given = [table[name].key for name in names if getattr(options, name) is not None]
    if len(given) > 1:
        raise OptionError(f"options {' and '.join(given)} conflict with each other; set only one of them")


def both_or_none(options: object, names: Iterable[str]) -> None:
    """Raise OptionError if some of the fields `names` are set and others are None."""
    table = option_fields(type(options))
    missing = [table[name].key for name in names if getattr(options, name) is None]
    given = [table[name].key for name in names if getattr(options, name) is not None]
    if missing and given:
        raise OptionError(
            f"option {missing[0]!r} is missing: expected it together with {given[0]}, got {given[0]} alone; "
            f"set both or none"
        )
