"""The state of Spark in this process, and the settings with which Spark will start, for `configure`.

Spark's builder and context have no public functions for most of these facts, so this module uses private parts of
PySpark.
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
    "call configure in a new process, before a session starts, or start the program with the output of "
    "`pyspark-pulsar catalog conf` (spark-submit --properties-file)"
)

SettingOf = Callable[[str], str | None]
"""A function that returns the value of a setting by its key, or None if the setting is not set."""


def builder_options(builder: Any) -> dict[str, str]:
    """Return the options that a `SparkSession.builder` has so far."""
    return dict(builder._options)  # noqa: SLF001


def is_client(given: Mapping[str, str]) -> bool:
    """Return whether a builder with these options creates a client of an existing Spark Connect server.

    The result is False for `remote("local")`, because the server that the builder starts itself accepts all settings.
    """
    return given.get("spark.remote", os.environ.get("SPARK_REMOTE", "")).startswith(_CLIENT)


def refuse_other_settings(own: Mapping[str, str], catalog: str) -> None:
    """Raise `SessionStarted` if a session of this process has the catalog with settings other than `own`."""
    setting = _session_settings()
    if setting is None or setting(f"spark.sql.catalog.{catalog}") is None:
        return
    other = [key for key, value in own.items() if setting(key) != value]
    if other:
        raise SessionStarted(
            f"the running session has a catalog {catalog} with other values of {', '.join(other)}: expected the same "
            f"values; choose another name for the catalog, or {_INSTEAD}"
        )


def refuse_without_catalog(
    own: Mapping[str, str], catalog: str, catalog_class: str, extensions_class: str
) -> None:
    """Raise an error if a running session or JVM cannot load the catalog.

    A session with the jar and the extension accepts further catalogs while it runs.

    Raises:
        SessionStarted: A session runs without the extension or with other settings of the catalog, or a JVM runs
            without the jar.

    """
    setting = _session_settings()
    if setting is not None and extensions_class not in (setting("spark.sql.extensions") or "").split(","):
        raise SessionStarted(
            f"a Spark session runs without the extension of the catalog {catalog}: expected no running session, "
            f"because a running session cannot add jars or extensions; {_INSTEAD}"
        )
    refuse_other_settings(own, catalog)
    if _has_jvm() and not _jvm_has(catalog_class):
        raise SessionStarted(
            f"Spark's JVM runs without the catalog's jar (after a session was stopped, or with spark-submit): "
            f"expected no JVM, or a JVM with the jar; {_INSTEAD}"
        )


def startup_settings() -> dict[str, str]:
    """Return the settings of a running JVM, or of spark-defaults.conf and PYSPARK_SUBMIT_ARGS if no JVM runs."""
    if _has_jvm():
        from pyspark import SparkConf

        return dict(SparkConf().getAll())
    submitted, file = _submitted_settings()
    return {**_conf_file(file), **submitted}


def workers_python() -> dict[str, str]:
    """Return the setting for the workers' interpreter from PYSPARK_PYTHON, which overrides other settings."""
    python = os.environ.get("PYSPARK_PYTHON")
    return {"spark.pyspark.python": python} if python else {}


def add_submitted_jar(jar: str) -> None:
    """Add the jar to the jars in PYSPARK_SUBMIT_ARGS. If there are such jars, Spark ignores the builder's jars."""
    words = shlex.split(os.environ.get(_SUBMIT_ARGS, ""))
    changed = [_with_jar(previous, word, jar) for previous, word in zip(["", *words], words, strict=False)]
    if changed != words:
        os.environ[_SUBMIT_ARGS] = shlex.join(changed)


def starts_jvm(given: Mapping[str, str]) -> bool:
    """Return whether a builder with these options starts a JVM, with its settings on the command line."""
    return "spark.remote" not in given and "SPARK_REMOTE" not in os.environ and not _has_jvm()


def submit_by_file(settings: Mapping[str, str]) -> None:
    """Pass the settings to the JVM in a file that only this user can read.

    Without the file, the settings would be on the JVM's command line, which all users of the machine can read. The file
    also contains the settings of the file that Spark would read otherwise, because Spark reads only one of the two
    files. This process deletes the file at exit.
    """
    _, previous = _submitted_settings()
    source = _conf_path(previous)
    text = source.read_text() if source is not None and source.is_file() else ""
    descriptor, name = tempfile.mkstemp(prefix="pyspark-pulsar-", suffix=".conf")
    atexit.register(_remove, name, os.getpid())
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{text}\n{properties_text(settings)}")
    words = shlex.split(os.environ.get(_SUBMIT_ARGS, "pyspark-shell"))
    if previous is None:
        words = ["--properties-file", name, *words]
    else:
        words = [word.replace(previous, name) if previous in word else word for word in words]
    os.environ[_SUBMIT_ARGS] = shlex.join(words)


def _remove(name: str, process: int) -> None:
    """Delete the file, except in a forked process."""
    if os.getpid() == process:
        Path(name).unlink(missing_ok=True)


def _with_jar(previous: str, word: str, jar: str) -> str:
    is_list = (
        previous == "--jars"
        or word.startswith(("--jars=", f"--conf={_JARS}="))
        or (previous in ("--conf", "-c") and word.startswith(f"{_JARS}="))
    )
    return f"{word},{jar}" if is_list and jar not in re.split("[,=]", word) else word


def _submitted_settings() -> tuple[dict[str, str], str | None]:
    """Return the settings in PYSPARK_SUBMIT_ARGS, and the path after `--properties-file`; None without this flag."""
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
    """Return the settings in a file, by default `spark-defaults.conf`; an empty mapping if the file does not exist."""
    file = _conf_path(name)
    if file is None or not file.is_file():
        return {}
    lines = [_CONF_LINE.fullmatch(line) for line in file.read_text().splitlines()]
    return {line["key"]: line["value"] for line in lines if line is not None}


def _conf_path(name: str | None) -> Path | None:
    """Return the path of a file of settings, by default `spark-defaults.conf`; None if its folder is unknown."""
    home = os.environ.get("SPARK_HOME", "")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "")
    return Path(name or f"{folder}/spark-defaults.conf") if name or folder else None


def _session_settings() -> SettingOf | None:
    """Return a function that reads the settings of this process's session, or None if no session runs."""
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
    """Return whether this process has or had a JVM of Spark, or was started by Spark's JVM (spark-submit)."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ  # noqa: SLF001


def _jvm_has(class_name: str) -> bool:
    """Return whether the JVM finds the class, by the rules by which Spark loads the class of a catalog."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark import SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001
    jvm: Any = SparkContext._jvm  # noqa: SLF001
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(class_name)
    except Py4JJavaError:
        return False
    return True
