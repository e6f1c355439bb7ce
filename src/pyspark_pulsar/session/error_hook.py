"""Short display of this package's errors in terminals and notebooks, with only the lines of the user's program.

Python and IPython show an exception after all frames that the exception passed. Many of these frames are in PySpark,
Py4J and IPython. The short display begins and ends with the message, and shows only the frames of the user's program in
between. This module runs in the user's program.
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

# The form in which `traceback` writes an error of this package. The message may contain the lines of a list. Spark adds
# its own words before and after this text.
_OWN_ERROR: Final = re.compile(r"\bpyspark_pulsar\.errors\.\w+: [^\n]*(?:\n +- [^\n]*)*")
_JAR_ERROR_CLASS: Final = "org.pysparkpulsar.source.PulsarException"
_CLIENT_ERROR: Final = re.compile(
    rf"(?P<message>.+?)\n\nJVM stacktrace:\n{re.escape(_JAR_ERROR_CLASS)}\b", re.DOTALL
)
_SQL_STATE: Final = re.compile(r" SQLSTATE: \w{5}$")
_HIDDEN_PACKAGES: Final = (
    "pyspark", "py4j", "pyspark_pulsar", "IPython", "ipykernel",
    "decorator",  # wraps IPython's formatters
)  # fmt: skip


def install_error_hook() -> bool:
    """Install the short display of this package's errors in this process. Runs in the user's program only.

    `configure` calls this function. The display of other exceptions does not change. If the environment variable
    PYSPARK_PULSAR_TRACEBACK is set, the display of this package's errors does not change either.

    Returns:
        True if this call or an earlier call has installed the hook. False if another program has set a hook, which this
        function does not replace.

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
    """Return this package's message in an error of this package or of Spark; None if the error contains no message."""
    if isinstance(error, PulsarError):
        return f"{type(error).__module__}.{type(error).__qualname__}: {error}"
    found = _OWN_ERROR.search(str(error))
    return _catalog_message(error) if found is None else _SQL_STATE.sub("", found[0])


def _catalog_message(error: BaseException) -> str | None:
    """Return the message of an error that the jar raised for a statement; None if the jar did not raise the error.

    The text of an error of the jar is only the message. Over Spark Connect, the text also contains the class of the
    error, below the message. Without Spark Connect, the class is requested from the JVM, which may have ended.
    """
    if (found := _CLIENT_ERROR.match(str(error))) is not None:
        return found["message"]
    with suppress(Exception):
        origin = error._origin  # type: ignore[attr-defined]  # noqa: SLF001 -- PySpark shows it nowhere else
        if origin.getClass().getName() == _JAR_ERROR_CLASS:
            return str(origin.getMessage())
    return None


def shown_error(error: BaseException, trace: TracebackType | None) -> str | None:
    """Return the short display; None if all frames are kept, or if the exception has no message of this package."""
    if keeps_tracebacks() or (sentence := sentence_of(error)) is None:
        return None
    frames = [frame for frame in traceback.extract_tb(trace) if not _is_hidden(frame.filename)]
    if not frames and _notebook() is not None:
        # IPython caught the error while it displayed the value of a cell. The cell is still on the stack.
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
    """Return the IPython shell that runs this code, or None outside of IPython."""
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
    """A replacement for a shell's `showtraceback`, for errors that are raised while a cell's value is displayed.

    IPython calls `showtraceback` directly for these errors, without the handler of custom exceptions. Over Spark
    Connect, a DataFrame is analyzed when it is displayed.
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
        # A value is displayed as text and as HTML, and both displays fail with the same error. Show the error only
        # once.
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
    # `showtraceback` also ends with this call, which prints on a terminal, or sends an error to a notebook.
    shell._showtraceback(kind, error, shown.splitlines())  # noqa: SLF001 -- it has no public name


def _shown_kinds() -> tuple[type[BaseException], ...]:
    """Return the classes of exceptions that may contain a message of this package."""
    from pyspark.errors import PySparkException

    # A client of Spark Connect does not need Py4J.
    with suppress(ImportError):
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        return PulsarError, PySparkException, Py4JJavaError
    return PulsarError, PySparkException


def _is_hidden(file: str) -> bool:
    return any(Path(place) in (Path(file), *Path(file).parents) for place in _hidden_places())


def _hidden_places() -> Iterator[str]:
    """Yield folders of packages, and files of modules, whose frames are hidden."""
    for name in _HIDDEN_PACKAGES:
        module = sys.modules.get(name)
        yield from getattr(module, "__path__", None) or [getattr(module, "__file__", None) or name]
