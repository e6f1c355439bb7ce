"""Errors as the hook shows them: this package's text first and last, and the user's own lines between."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

from pyspark_pulsar.errors import OptionError, SchemaError
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.session.error_hook import install_error_hook, sentence_of, shown_error
from pyspark_pulsar.spark.tracebacks import KEEPS_TRACEBACKS

SENTENCE = "pyspark_pulsar.errors.OptionError: unknown option 'topik'; did you mean 'topic'?"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"[PYTHON_DATA_SOURCE_ERROR] Failed to create: {SENTENCE}\n SQLSTATE: 38000", SENTENCE),
        (f"[PYTHON_DATA_SOURCE_ERROR] Failed to create: {SENTENCE} SQLSTATE: 38000", SENTENCE),
        (
            f"Job aborted: Traceback:\n  File\n{SENTENCE}\n\n\tat org.apache.spark.X\nCaused by: {SENTENCE}",
            SENTENCE,
        ),
        (
            f"An exception was thrown:\n{SENTENCE}\n  - one\n  - two\nDriver stacktrace:",
            f"{SENTENCE}\n  - one\n  - two",
        ),
        ("[PARSE_SYNTAX_ERROR] at 'x'", None),
        (
            "setting 'a' is missing\n  - b\n\nJVM stacktrace:\norg.pysparkpulsar.source.PulsarException\n\tat x",
            "setting 'a' is missing\n  - b",
        ),
        ("[X] other\n\nJVM stacktrace:\norg.apache.spark.sql.AnalysisException\n\tat x", None),
    ],
)
def test_the_sentence_in_sparks_words(text: str, sentence: str | None) -> None:
    assert sentence_of(AnalysisException(text)) == sentence


def test_first_and_last_and_the_users_lines() -> None:
    try:
        parse_options(ReadOptions, {"topik": "a"})
    except OptionError as error:
        shown = shown_error(error, error.__traceback__)
    assert shown is not None
    lines = shown.splitlines()
    assert lines[0] == lines[-1]
    assert "unknown option 'topik'; did you mean 'topic'" in lines[0]
    assert Path(__file__).name in shown
    assert "parse.py" not in shown


def test_other_errors_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_error(ValueError("x"), None) is None
    monkeypatch.setenv(KEEPS_TRACEBACKS, "1")
    assert shown_error(SchemaError("x"), None) is None


def run(program: str) -> str:
    """Return the output of a failing program on standard error."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr


def test_in_a_program() -> None:
    raising = "import pyspark_pulsar; assert pyspark_pulsar.install_error_hook()\n"
    raising += "from pyspark_pulsar.options import *\n"
    lines = run(f"{raising}parse_options(ReadOptions, {{'topik': 'a'}})").splitlines()
    assert len(lines) == 3
    assert lines[0] == lines[2]
    assert lines[0].startswith("pyspark_pulsar.errors.OptionError: unknown option 'topik'")
    assert run(f"{raising}1 / 0").splitlines()[0] == "Traceback (most recent call last):"


def test_a_hook_of_another_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*_: object) -> None:
        pass

    monkeypatch.setattr(sys, "excepthook", other)
    assert not install_error_hook()
    assert sys.excepthook is other
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    assert install_error_hook()
    assert install_error_hook()


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor")
shell.run_cell("%load_ext pyspark_pulsar")
for cell in [
    "from pyspark_pulsar.options import *\\ndef f():\\n    parse_options(ReadOptions, {'topik': 'a'})\\nf()",
    "from pyspark.errors import AnalysisException\\n"
    "raise AnalysisException('[X] Failed: pyspark_pulsar.errors.OptionError: bad SQLSTATE: 38000')",
    "1 / 0",
]:
    print("CELL")
    assert not shell.run_cell(cell).success
"""


def test_in_a_notebook() -> None:
    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=True)
    _, ours, sparks, other = (text.strip().splitlines() for text in done.stdout.split("CELL\n"))
    assert ours[0] == ours[-1]
    assert ours[0].startswith("pyspark_pulsar.errors.OptionError: unknown option 'topik'")
    assert len(ours) == 6
    assert sparks[0] == sparks[-1] == "pyspark_pulsar.errors.OptionError: bad"
    assert "ZeroDivisionError" in other[1]


FRAMES = """
import pyspark.errors

class Frame:
    def __repr__(self):
        raise pyspark.errors.AnalysisException("[X] Failed: pyspark_pulsar.errors.OptionError: bad SQLSTATE: 38000")

    _repr_html_ = __repr__
"""
VALUES = f"""
import pyspark
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor")
shell.run_cell("%load_ext pyspark_pulsar")
shell.run_cell("%load_ext pyspark_pulsar")
# As in PySpark, whose frames are hidden.
exec(compile({FRAMES!r}, pyspark.__path__[0] + "/frame.py", "exec"), shell.user_ns)
for cell in ["Frame()", "display(Frame())", "class Other:\\n  def __repr__(self): return 1 / 0\\nOther()"]:
    print("CELL")
    shell.run_cell(cell, store_history=True)
"""


def test_a_value_that_fails_when_a_notebook_shows_it() -> None:
    done = subprocess.run([sys.executable, "-c", VALUES], capture_output=True, text=True, check=True)
    _, last, given, other = (text.strip().splitlines() for text in done.stdout.split("CELL\n"))
    sentence = "pyspark_pulsar.errors.OptionError: bad"
    for lines, cell in ((last, "Frame()"), (given, "display(Frame())")):
        assert len(lines) == 4, lines
        assert lines[0].removeprefix("Out[1]: ") == lines[3] == sentence
        assert lines[2].strip() == cell
    assert any("ZeroDivisionError" in line for line in other)


def test_a_notebook_with_handlers_of_its_own_keeps_them() -> None:
    program = """
from IPython.core.interactiveshell import InteractiveShell
import pyspark_pulsar

shell = InteractiveShell.instance()
shell.set_custom_exc((KeyError,), lambda *_, **__: None)
assert not pyspark_pulsar.install_error_hook()
assert shell.custom_exceptions == (KeyError,)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
