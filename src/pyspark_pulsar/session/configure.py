"""Settings that add the catalog to a Spark session, for a builder or a conf file.

This module runs in the user's program before the session starts. A running session cannot accept the settings, because
the session's JVM has already loaded the jars and extensions.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pyspark_pulsar.catalog.settings import parse_settings
from pyspark_pulsar.errors import OptionError, PrerequisiteMissing
from pyspark_pulsar.options import ReadOptions, WriteOptions, secret_keys
from pyspark_pulsar.session.checkpoints import checkpoint_conf
from pyspark_pulsar.session.environment import (
    add_submitted_jar,
    builder_options,
    is_client,
    refuse_other_settings,
    refuse_without_catalog,
    starts_jvm,
    startup_settings,
    submit_by_file,
    workers_python,
)
from pyspark_pulsar.session.error_hook import install_error_hook

CATALOG_CLASS: Final = "org.pysparkpulsar.catalog.PulsarCatalog"
EXTENSIONS_CLASS: Final = "org.pysparkpulsar.catalog.PulsarExtensions"

_JARS: Final = "spark.jars"
_EXTENSIONS: Final = "spark.sql.extensions"
_WORKERS_PYTHON: Final = "spark.pyspark.python"
_FILTER_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
_UNIX_SOCKETS: Final = "spark.python.unix.domain.socket"
_REDACTION: Final = "spark.redaction.regex"
_SPARKS_REDACTION: Final = "(?i)secret|password|token|access[.]?key"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)

Builder = TypeVar("Builder")


def catalog_jar() -> Path:
    """Return the path of the catalog's jar, a file of this package.

    Raises:
        PrerequisiteMissing: The file does not exist.

    """
    jar = Path(__file__).parents[1] / "jars" / "pyspark-pulsar-catalog.jar"
    if not jar.is_file():
        raise PrerequisiteMissing(
            f"the catalog's jar is missing at {jar}: expected the file of an installed pyspark-pulsar; install the "
            f"package with pip (in a clone: pip install ., or make jar), which builds the jar"
        )
    return jar


def configure(
    builder: Builder,
    service_url: str | None = None,
    admin_url: str | None = None,
    *,
    catalog: str = "pulsar",
    checkpoints: str | None = None,
    options: Mapping[str, Any] | None = None,
    error_hook: bool = True,
    **settings: Any,
) -> Builder:
    """Add the catalog, the catalog's jar and the required settings to a `SparkSession.builder`.

    A builder of a Spark Connect client (`remote("sc://...")`) gets only the settings of the catalog. The jar, the
    extension and the interpreters belong to the server. The command `pyspark-pulsar catalog conf` prints the settings
    for the server.

    The catalog's jar and extension are added to the jars and extensions of the builder, of spark-defaults.conf and of
    PYSPARK_SUBMIT_ARGS. Other settings are not changed.

    `configure` also changes the process:

    - `error_hook` sets `sys.excepthook`, or the exception handler of the shell in IPython and Jupyter. Then errors of
      this package are shown without the frames of PySpark (`install_error_hook`).
    - If the environment variable PYSPARK_PYTHON is not set, `configure` sets it to the Python of the workers.
    - If the environment variable PYSPARK_SUBMIT_ARGS names jars, the jar of the catalog is added. If a setting is a
      secret, the variable also names a file with the secrets. Only this user can read the file. The process deletes the
      file at exit.

    Args:
        builder: The builder of a session that has not started.
        service_url: Service URL of the brokers, such as `pulsar://localhost:6650`.
        admin_url: Address of the admin REST API, such as `http://localhost:8080`.
        catalog: Name of the catalog in SQL.
        checkpoints: The state store of streams: `"rocksdb"`, or `"default"` for Spark's default provider. The argument
            also adds the settings for checkpoints in Pulsar to all queries of the session (docs/checkpoints.md).
        options: Further options of the data source and settings of the catalog whose names contain dots, such as
            `{"pulsar.client.authPluginClassName": "token"}`.
        error_hook: Whether to show errors of this package without the frames of PySpark in this whole process. A hook
            that another program has set stays as it is.
        **settings: Further options of the data source and settings of the catalog.

    Returns:
        The same builder. If the Python of the workers is not configured, `spark.pyspark.python` is set to the Python of
        this program. On a cluster, set this option yourself; `check_workers(spark)` reports workers without this
        package.

    Raises:
        SessionStarted: A session or its JVM runs without the jar or the extension, or has other settings of this
            catalog. A session with the catalog accepts a further catalog.
        OptionError: A setting has an unexpected name or value.
        PrerequisiteMissing: The jar is missing.

    """
    if error_hook:
        install_error_hook()
    given = builder_options(builder)
    own = catalog_settings(service_url, admin_url, catalog=catalog, options=options, **settings)
    if is_client(given):
        refuse_other_settings(own, catalog)
        return _set_all(builder, own)
    refuse_without_catalog(own, catalog, CATALOG_CLASS, EXTENSIONS_CLASS)
    conf = session_conf(
        service_url,
        admin_url,
        catalog=catalog,
        checkpoints=checkpoints,
        options=options,
        present={**startup_settings(), **given, **workers_python()},
        **settings,
    )
    add_submitted_jar(str(catalog_jar()))
    os.environ.setdefault("PYSPARK_PYTHON", conf[_WORKERS_PYTHON])
    secrets = {key: value for key, value in own.items() if _holds_secret(key, value)}
    if secrets and starts_jvm(given):
        submit_by_file(secrets)
        conf = {key: value for key, value in conf.items() if key not in secrets}
    return _set_all(builder, conf)


def session_conf(
    service_url: str | None = None,
    admin_url: str | None = None,
    *,
    catalog: str = "pulsar",
    checkpoints: str | None = None,
    python: str | None = None,
    jar: str | None = None,
    options: Mapping[str, Any] | None = None,
    present: Mapping[str, str] | None = None,
    **settings: Any,
) -> dict[str, str]:
    """Return all settings of a session with the catalog, including secrets.

    Args:
        service_url: Service URL of the brokers.
        admin_url: Address of the admin REST API.
        catalog: Name of the catalog in SQL.
        checkpoints: The same as for `configure`.
        python: The interpreter of the catalog and the workers. If `python` is None, the catalog uses this program's
            interpreter. Workers then use `spark.pyspark.python` in `present`, or this program's interpreter if the
            setting is absent.
        jar: The location of the catalog's jar for Spark; by default, the file in this package.
        options: The same as for `configure`.
        present: Existing settings of the session.
        **settings: The same as for `configure`.

    Raises:
        OptionError: A setting has an unexpected name or value.
        PrerequisiteMissing: The jar is missing.

    """
    present = present or {}
    own = catalog_settings(service_url, admin_url, catalog=catalog, options=options, **settings)
    return {
        _JARS: _appended(present.get(_JARS), jar or str(catalog_jar())),
        _EXTENSIONS: _appended(present.get(_EXTENSIONS), EXTENSIONS_CLASS),
        _FILTER_PUSHDOWN: present.get(_FILTER_PUSHDOWN, "true"),
        _WORKERS_PYTHON: python or present.get(_WORKERS_PYTHON) or sys.executable,
        _REDACTION: _redaction(present.get(_REDACTION)),
        f"{_prefix(catalog)}.python": python or sys.executable,
        **_sockets(present),
        **checkpoint_conf(catalog, present, checkpoints),
        **own,
    }


def catalog_settings(
    service_url: str | None = None,
    admin_url: str | None = None,
    *,
    catalog: str = "pulsar",
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, str]:
    """Return the setting `spark.sql.catalog.<catalog>` and all settings `spark.sql.catalog.<catalog>.*`.

    Values may have the types that `DataFrameReader.options` accepts. The arguments are the same as for `configure`.

    Raises:
        OptionError: The catalog's name is invalid, or the catalog would refuse the settings. Settings without
            `service.url` are not checked, because the session then gets further settings from another place.

    """
    if _NAME.fullmatch(catalog) is None or catalog == "spark_catalog":
        raise OptionError(
            f"catalog: expected a name of letters, digits, - and _ other than spark_catalog, which is Spark's own "
            f"catalog, got {catalog!r}"
        )
    conf = {_prefix(catalog): CATALOG_CLASS}
    seen: dict[str, str] = {}
    named = [("service.url", service_url), ("admin.url", admin_url)]
    for key, value in [*named, *settings.items(), *(options or {}).items()]:
        if value is None:
            continue
        if key.lower() in seen:
            raise OptionError(
                f"settings {seen[key.lower()]!r} and {key!r} have the same meaning; remove one of them"
            )
        seen[key.lower()] = key
        conf[f"{_prefix(catalog)}.{key}"] = str(value).lower() if isinstance(value, bool) else str(value)
    if seen.keys() & {"service.url", "serviceurl"}:
        parse_settings(catalog, {key: conf[f"{_prefix(catalog)}.{key}"] for key in seen.values()})
    return conf


def _prefix(catalog: str) -> str:
    return f"spark.sql.catalog.{catalog}"


def _appended(present: str | None, added: str) -> str:
    """Return a comma-separated list with the item `added`. The item is not added twice."""
    items = [item.strip() for item in (present or "").split(",") if item.strip()]
    return ",".join(items if added in items else [*items, added])


def _sockets(present: Mapping[str, str]) -> dict[str, str]:
    """Return settings for Unix sockets between Spark's JVM and its Python workers.

    If `present` enables or disables Unix sockets, return no settings. Over TCP, each task waits 40 ms before it starts.
    The JVM writes small pieces, and the kernel delays the second piece until the first piece is acknowledged. The path
    of a Unix socket is limited to 103 to 107 bytes, depending on the system. Spark's default folder is the folder for
    temporary files, whose path may be longer, for example on YARN.
    """
    enabled, folder = f"{_UNIX_SOCKETS}.enabled", f"{_UNIX_SOCKETS}.dir"
    if enabled in present:
        return {}
    return {enabled: "true", folder: present.get(folder, "/tmp")}  # noqa: S108 -- of each executor's machine


def _redaction(present: str | None) -> str:
    """Add this package's secrets to the pattern of names and values that Spark hides in its UI and logs."""
    regex = present or _SPARKS_REDACTION
    is_sparks = regex.startswith(_SPARKS_REDACTION)
    for key in secret_keys(ReadOptions, WriteOptions):
        name = key.rpartition(".")[2].lower()
        if name not in regex.lower():
            regex = f"{regex}|{name}" if is_sparks else f"{regex}|(?i:{name})"
    return regex


def _holds_secret(key: str, value: str) -> bool:
    """Return whether a setting contains a secret itself, and not only the location of a secret."""
    names = (f".{name.lower()}" for name in secret_keys(ReadOptions, WriteOptions))
    return key.lower().endswith(tuple(names)) and not value.startswith(("file:", "env:", "/"))


def _set_all(builder: Builder, conf: Mapping[str, str]) -> Builder:
    for key, value in conf.items():
        builder.config(key, value)  # type: ignore[attr-defined]
    return builder
