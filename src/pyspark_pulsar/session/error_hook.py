"""Errors of this package first and last on a terminal and in a notebook, with the lines of the user's program between.

Python and IPython show an exception below the frames that it went through: those of PySpark and Py4J, and of IPython
with the lines around each. Runs in the user's program.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.spark.tracebacks import keeps_tracebacks

# As `traceback` writes an exception, the items of a list with it; Spark puts its own words around it.
_OF_THIS_PACKAGE: Final = re.compile(r"\bpyspark_pulsar\.errors\.\w+: [^\n]*(?:\n +- [^\n]*)*")
_OF_THE_JAR: Final = "org.pysparkpulsar.source.PulsarException"
_OF_A_CLIENT: Final = re.compile(
    rf"(?P<message>.+?)\n\nJVM stacktrace:\n{re.escape(_OF_THE_JAR)}\b", re.DOTALL
)
_SPARKS_END: Final = re.compile(r" SQLSTATE: \w{5}$")
_HIDDEN_PACKAGES: Final = ("pyspark", "py4j", "pyspark_pulsar", "IPython", "ipykernel")


def install_error_hook() -> bool:
    """Show errors of this package so from now on; True where that is done, or was before. Driver only.

    Done by `configure`. All other exceptions are shown as before, and so are these where the environment variable
    PYSPARK_PULSAR_TRACEBACK is set. Nothing is changed where another program has a hook of its own: False.
    """
    shell = _notebook()
    if shell is not None:
        return _install_in(shell)
    if sys.excepthook is _show:
        return True
    if sys.excepthook is not sys.__excepthook__:
        return False
    sys.excepthook = _show
    return True


def sentence_of(error: BaseException) -> str | None:
    """What this package says in `error`, one of its own or one of Spark's around it; None where it says nothing."""
    if isinstance(error, PulsarError):
        return f"{type(error).__module__}.{type(error).__qualname__}: {error}"
    found = _OF_THIS_PACKAGE.search(str(error))
    return _of_the_catalog(error) if found is None else _SPARKS_END.sub("", found[0])


def _of_the_catalog(error: BaseException) -> str | None:
    """What the jar says of a statement, in an exception of its own around the bare message: that is told by Spark
    Connect below the message, else by the JVM, which may be gone."""
    if (found := _OF_A_CLIENT.match(str(error))) is not None:
        return found["message"]
    with suppress(Exception):
        origin = error._origin  # type: ignore[attr-defined]  # noqa: SLF001 -- PySpark shows it nowhere else
        if origin.getClass().getName() == _OF_THE_JAR:
            return str(origin.getMessage())
    return None


def shown_error(error: BaseException, trace: TracebackType | None) -> str | None:
    """The lines to show; None for an exception of others."""
    if keeps_tracebacks() or (sentence := sentence_of(error)) is None:
        return None
    frames = [frame for frame in traceback.extract_tb(trace) if not _is_hidden(frame.filename)]
    return "".join([f"{sentence}\n", *traceback.format_list(frames), f"{sentence}\n"])


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    shown = shown_error(error, trace)
    if shown is None:
        sys.__excepthook__(kind, error, trace)
    else:
        sys.stderr.write(shown)


def _notebook() -> Any:
    """IPython's shell, in whose cells this runs; None without."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def _install_in(shell: Any) -> bool:
    if not shell.custom_exceptions:
        shell.set_custom_exc(_shown_kinds(), _show_in_shell)
    return bool(shell.custom_exceptions == _shown_kinds())


def _show_in_shell(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    shown = shown_error(error, trace)
    if shown is None:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    else:
        # What `showtraceback` itself ends with: on a terminal it prints, to a notebook it sends an error.
        shell._showtraceback(kind, error, shown.splitlines())  # noqa: SLF001 -- it has no public name


def _shown_kinds() -> tuple[type[BaseException], ...]:
    """In which what this package says can come."""
    from pyspark.errors import PySparkException

    # A client of Spark Connect does without Py4J.
    with suppress(ImportError):
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        return PulsarError, PySparkException, Py4JJavaError
    return PulsarError, PySparkException


def _is_hidden(file: str) -> bool:
    return any(Path(folder) in Path(file).parents for folder in _hidden_folders())


def _hidden_folders() -> Iterator[str]:
    for name in _HIDDEN_PACKAGES:
        module = sys.modules.get(name)
        yield from getattr(module, "__path__", ())
