"""What Spark runs, or will be started with, in this process: what `configure` must know before it adds to it.

Spark's own builder and context have no way to ask for most of it; what is private to PySpark is used here alone.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pyspark_pulsar.errors import SessionStarted
from pyspark_pulsar.java_properties import properties_text

_JARS: Final = "spark.jars"
_SUBMIT_ARGS: Final = "PYSPARK_SUBMIT_ARGS"
_CONF_LINE: Final = re.compile(r"\s*(?P<key>[^\s=:#!]+)\s*[=:\s]\s*(?P<value>.*?)\s*")
_CLIENT: Final = "sc://"
_INSTEAD: Final = (
    "call it before the session starts, in a new process, or start the program with what `pyspark-pulsar catalog conf` "
    "prints (spark-submit --properties-file)"
)

SettingOf = Callable[[str], str | None]
"""The value of a setting by its key; None where it is not set."""


def builder_options(builder: Any) -> dict[str, str]:
    """What a `SparkSession.builder` was told so far."""
    return dict(builder._options)  # noqa: SLF001


def is_client(given: Mapping[str, str]) -> bool:
    """Whether a builder with these options makes the client of a Connect server that somebody else has started. One
    that is started here, by `remote("local")`, takes all settings."""
    return given.get("spark.remote", os.environ.get("SPARK_REMOTE", "")).startswith(_CLIENT)


def refuse_other_settings(own: Mapping[str, str], catalog: str) -> None:
    """Raises `SessionStarted` where a session of this process has the catalog, and it is not as in `own`."""
    setting = _session_settings()
    if setting is None or setting(f"spark.sql.catalog.{catalog}") is None:
        return
    other = [key for key, value in own.items() if setting(key) != value]
    if other:
        raise SessionStarted(
            f"a session runs whose catalog {catalog} has read other values of {', '.join(other)}: expected these; "
            f"give the catalog another name, or {_INSTEAD}"
        )


def refuse_without_catalog(
    own: Mapping[str, str], catalog: str, catalog_class: str, extensions_class: str
) -> None:
    """Raises `SessionStarted` where a session runs without the extension or with other settings of the catalog, and
    where a JVM runs without the jar. A session that has both takes another catalog while it runs."""
    setting = _session_settings()
    if setting is not None and extensions_class not in (setting("spark.sql.extensions") or "").split(","):
        raise SessionStarted(
            f"a Spark session runs without the extension of the catalog {catalog}, and takes no jars or extensions any "
            f"more: expected none yet; {_INSTEAD}"
        )
    refuse_other_settings(own, catalog)
    if _has_jvm() and not _jvm_has(catalog_class):
        raise SessionStarted(
            f"a JVM of Spark's runs without the catalog's jar (a session was stopped, or spark-submit has started it): "
            f"expected none yet, or one with the jar; {_INSTEAD}"
        )


def started_with() -> dict[str, str]:
    """The settings of spark-defaults.conf and PYSPARK_SUBMIT_ARGS, or those that a running JVM was started with."""
    if _has_jvm():
        from pyspark import SparkConf

        return dict(SparkConf().getAll())
    submitted, file = _submitted()
    return {**_conf_file(file), **submitted}


def workers_python() -> dict[str, str]:
    """The interpreter of the workers where the environment says it, which wins over settings."""
    python = os.environ.get("PYSPARK_PYTHON")
    return {"spark.pyspark.python": python} if python else {}


def add_submitted_jar(jar: str) -> None:
    """Jars in PYSPARK_SUBMIT_ARGS win over the builder's when Spark starts a JVM; so the jar is added to them too."""
    words = shlex.split(os.environ.get(_SUBMIT_ARGS, ""))
    changed = [_with_jar(former, word, jar) for former, word in zip(["", *words], words, strict=False)]
    if changed != words:
        os.environ[_SUBMIT_ARGS] = shlex.join(changed)


def starts_jvm(given: Mapping[str, str]) -> bool:
    """Whether a builder with these options starts a JVM by a command line that holds its settings."""
    return "spark.remote" not in given and "SPARK_REMOTE" not in os.environ and not _has_jvm()


def submit_by_file(settings: Mapping[str, str]) -> None:
    """Give them to the JVM that Spark starts by a file that nobody else may read, as what a builder has is on its
    command line for all to see. The file holds as well what Spark would have read instead; this process deletes it."""
    _, former = _submitted()
    source = _conf_path(former)
    text = source.read_text() if source is not None and source.is_file() else ""
    descriptor, name = tempfile.mkstemp(prefix="pyspark-pulsar-", suffix=".conf")
    atexit.register(_remove, name, os.getpid())
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{text}\n{properties_text(settings)}")
    words = shlex.split(os.environ.get(_SUBMIT_ARGS, "pyspark-shell"))
    if former is None:
        words = ["--properties-file", name, *words]
    else:
        words = [word.replace(former, name) if former in word else word for word in words]
    os.environ[_SUBMIT_ARGS] = shlex.join(words)


def _remove(name: str, process: int) -> None:
    """Not by a process that was forked meanwhile."""
    if os.getpid() == process:
        Path(name).unlink(missing_ok=True)


def _with_jar(former: str, word: str, jar: str) -> str:
    is_list = (
        former == "--jars"
        or word.startswith(("--jars=", f"--conf={_JARS}="))
        or (former in ("--conf", "-c") and word.startswith(f"{_JARS}="))
    )
    return f"{word},{jar}" if is_list and jar not in re.split("[,=]", word) else word


def _submitted() -> tuple[dict[str, str], str | None]:
    """Settings in PYSPARK_SUBMIT_ARGS, and the file of settings that it names."""
    settings: dict[str, str] = {}
    file = None
    words = shlex.split(os.environ.get(_SUBMIT_ARGS, ""))
    for number, word in enumerate(words):
        flag, equals, text = word.partition("=")
        text = text if equals else next(iter(words[number + 1 :]), "")
        if flag == "--jars":
            settings[_JARS] = text
        elif flag in ("--conf", "-c"):
            key, _, value = text.partition("=")
            if key != _JARS or "--jars" not in words:
                settings[key] = value
        elif flag == "--properties-file":
            file = text
    return settings, file


def _conf_file(name: str | None) -> dict[str, str]:
    """A file of settings, by default Spark's own; nothing where there is none."""
    file = _conf_path(name)
    if file is None or not file.is_file():
        return {}
    lines = [_CONF_LINE.fullmatch(line) for line in file.read_text().splitlines()]
    return {line["key"]: line["value"] for line in lines if line is not None}


def _conf_path(name: str | None) -> Path | None:
    """Of the file with this name, by default Spark's own; None where nobody says where that is."""
    home = os.environ.get("SPARK_HOME", "")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "")
    return Path(name or f"{folder}/spark-defaults.conf") if name or folder else None


def _session_settings() -> SettingOf | None:
    """The settings of the session that runs in this process; None where none does."""
    from pyspark.sql import SparkSession
    from pyspark.util import is_remote_only

    session = SparkSession.getActiveSession()
    if session is not None:
        return lambda key: session.conf.get(key, None)
    if is_remote_only():
        return None
    from pyspark import SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001
    return None if context is None else lambda key: context.getConf().get(key)


def _has_jvm() -> bool:
    """Whether Spark runs, has run in this process, or has started it (spark-submit)."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ  # noqa: SLF001


def _jvm_has(class_name: str) -> bool:
    """Whether the JVM's program finds the class, as Spark does when it loads a catalog."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark import SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001
    jvm: Any = SparkContext._jvm  # noqa: SLF001
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(class_name)
    except Py4JJavaError:
        return False
    return True
