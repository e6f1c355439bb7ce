import subprocess
import sys

import pytest

_WARN = 'logging.getLogger("pyspark_pulsar.codec.decode").warning("said %d", 1)'
_SHOW = "import logging; from pyspark_pulsar.spark.logging import show_warnings"


def _stderr(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def test_a_warning_has_time_level_and_name_once() -> None:
    (line,) = _stderr(f"{_SHOW}; show_warnings(); show_warnings(); {_WARN}")
    assert line[17:] == " WARN pyspark_pulsar.codec.decode: said 1"
    assert line[2::3][:5] == "// ::"


def test_logging_that_is_configured_is_left_alone() -> None:
    assert _stderr(f"{_SHOW}; logging.basicConfig(format='own %(message)s'); show_warnings(); {_WARN}") == [
        "own said 1"
    ]


@pytest.mark.parametrize(
    "work",
    [
        "from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader; PulsarStreamReader(None, None)",
        (
            "from pyspark_pulsar.read.task.split_reader import read_split\n"
            "try: next(read_split(None, None, None))\n"
            "except AttributeError: pass\n"
        ),
    ],
    ids=["the driver of a stream", "a task"],
)
def test_where_work_begins_warnings_are_shown(work: str) -> None:
    (line,) = _stderr(f"import logging; {work}\n{_WARN}")
    assert line.endswith(" WARN pyspark_pulsar.codec.decode: said 1")


_HOSTILE = 'logging.getLogger("pyspark_pulsar.read.split").warning("topic %s ends", "x\\x1b[31m\\n\\u202e")'
_PRINTABLE = r"topic x\x1b[31m\n\u202e ends"


@pytest.mark.parametrize(
    "before",
    ["import pyspark_pulsar", _SHOW + "; show_warnings()", "import pyspark_pulsar; logging.basicConfig()"],
    ids=["as Python does", "in Spark's processes", "configured"],
)
def test_control_characters_are_escaped(before: str) -> None:
    (line,) = _stderr(f"import logging; {before}; {_HOSTILE}")
    assert line.endswith(_PRINTABLE)


def test_python_shows_no_more_than_without_this_package() -> None:
    quiet = 'logging.getLogger("pyspark_pulsar.read").info("not shown")'
    assert _stderr(f"import logging, pyspark_pulsar; {quiet}") == []


_INFO = 'logging.getLogger("pyspark_pulsar.progress").info("behind")'
_LEVELS = "from pyspark_pulsar.spark.logging import follow_levels"


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        (None, ["INFO", "WARN"]),
        ("INFO,INFO", ["INFO", "WARN"]),
        ("WARN,WARN", ["WARN"]),
        ("WARN,INFO", ["INFO", "WARN"]),
        ("ERROR,ERROR", []),
        ("OFF,OFF", []),
    ],
)
@pytest.mark.parametrize("order", ["show_warnings(); {0}", "{0}; show_warnings()"])
def test_the_levels_of_the_session(levels: str | None, shown: list[str], order: str) -> None:
    begin = order.format(f"follow_levels({levels!r})")
    lines = _stderr(f"{_SHOW}; {_LEVELS}; {begin}; {_INFO}; {_WARN}")
    assert [line.split()[2] for line in lines] == shown


def test_levels_change_while_a_process_runs() -> None:
    lines = _stderr(
        f"{_SHOW}; {_LEVELS}; show_warnings(); follow_levels('ERROR,ERROR'); {_WARN}; "
        f"follow_levels('WARN,WARN'); {_WARN}"
    )
    assert len(lines) == 1


def test_shipped_objects_bring_the_log_levels_to_workers() -> None:
    program = """
import logging, pickle, sys
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.read.batch.batch_reader import PulsarBatchReader
from pyspark_pulsar.spark import logging as levels
levels.follow_levels("ERROR,ERROR")
shipped = pickle.dumps(PulsarBatchReader.__new__(PulsarBatchReader).__reduce__()[1][0])
levels.follow_levels("WARN,WARN")
kind, state = pickle.loads(pickle.loads(shipped))
reader = kind.__new__(kind)
reader.__dict__.update(state)
reader.begin_task()
assert levels.session_levels() == "ERROR,ERROR"
"""
    assert _stderr(f"{program}{_WARN}") == []
