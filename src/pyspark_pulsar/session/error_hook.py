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
_HIDDEN_PACKAGES: Final = (
    "pyspark", "py4j", "pyspark_pulsar", "IPython", "ipykernel",
    "decorator",  # wraps IPython's formatters
)  # fmt: skip


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
    """Return the lines to show, or None for an exception of others."""
    if keeps_tracebacks() or (sentence := sentence_of(error)) is None:
        return None
    frames = [frame for frame in traceback.extract_tb(trace) if not _is_hidden(frame.filename)]
    if not frames and _notebook() is not None:
        # IPython caught it where it shows the value of a cell. The cell is still on the stack.
        stack = traceback.extract_stack()
        frames = [frame for frame in stack if not _is_hidden(frame.filename)][-1:]
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
    if shell.custom_exceptions != _shown_kinds():
        return False
    if not isinstance(shell.showtraceback, _ShownValues):
        shell.showtraceback = _ShownValues(shell)
    return True


class _ShownValues:
    """`showtraceback` of a shell, which also shows errors that are raised while the value of a cell is shown.

    IPython calls it directly for these, without the custom exceptions. Over Spark Connect a DataFrame is analyzed
    when it is shown.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._others = shell.showtraceback
        self._last: tuple[int, str] | None = None

    def __call__(self, exc_tuple: Any = None, *arguments: Any, **named: Any) -> None:
        kind, error, trace = exc_tuple or (None, None, None)
        shown = None if error is None else shown_error(error, trace)
        if shown is None:
            self._others(exc_tuple, *arguments, **named)
            return
        # A value is shown as text and as HTML, and both fail in the same way.
        sentence = (self._shell.execution_count, shown.partition("\n")[0])
        if sentence != self._last:
            self._last = sentence
            _send_to_shell(self._shell, kind, error, shown)


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
        _send_to_shell(shell, kind, error, shown)


def _send_to_shell(shell: Any, kind: Any, error: Any, shown: str) -> None:
    # `showtraceback` ends with this call: it prints on a terminal, and sends an error to a notebook.
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
    return any(Path(place) in (Path(file), *Path(file).parents) for place in _hidden_places())


def _hidden_places() -> Iterator[str]:
    """Return folders of packages, and files of modules."""
    for name in _HIDDEN_PACKAGES:
        module = sys.modules.get(name)
        yield from getattr(module, "__path__", None) or [getattr(module, "__file__", None) or name]
