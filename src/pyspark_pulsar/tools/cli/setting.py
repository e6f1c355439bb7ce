"""A parser for `KEY=VALUE`, the form of repeatable options."""

import click


def key_and_value(setting: str, hint: str) -> tuple[str, str]:
    """Return the key and the value. Raises `click.BadParameter`, which names the option `hint`."""
    key, equals, value = setting.partition("=")
    if not equals or not key.strip():
        msg = f"expected KEY=VALUE, got {setting!r}."
        raise click.BadParameter(msg, param_hint=hint)
    return key.strip(), value
