"""Apache Pulsar for Apache Spark: `spark.read`, `readStream`, `write`, `writeStream` with `format("pulsar")`.

Spark imports every installed `pyspark_*` package to find `DefaultSource`, in several processes of every query. So this
module imports another module only when a program uses a name of that module. The only exception is `PrintableRecords`,
which makes log records printable.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pyspark_pulsar.spark.logging import PrintableRecords

if TYPE_CHECKING:
    __version__: str
    from pyspark_pulsar.datasource import (
        PulsarDataSource as PulsarDataSource,
        register as register,
    )
    from pyspark_pulsar.errors import PulsarError as PulsarError
    from pyspark_pulsar.inspect.tables import audit as audit, plan as plan, segments as segments
    from pyspark_pulsar.session.configure import catalog_jar as catalog_jar, configure as configure
    from pyspark_pulsar.session.error_hook import install_error_hook as install_error_hook
    from pyspark_pulsar.session.history_and_live import (
        HistoryAndLive as HistoryAndLive,
        history_and_live as history_and_live,
    )
    from pyspark_pulsar.session.tier import tier as tier
    from pyspark_pulsar.spark.shipped_objects import check_workers as check_workers
    from pyspark_pulsar.tools.monitoring.listener import PulsarProgressListener as PulsarProgressListener
    from pyspark_pulsar.tools.monitoring.stop_at_end import stop_at_end as stop_at_end
    from pyspark_pulsar.tools.monitoring.watch import watch as watch
    from pyspark_pulsar.tools.standalone import LocalPulsar as LocalPulsar

    DefaultSource = PulsarDataSource

# The module of each public name. Type checkers read the imports above instead of this mapping.
_MODULES = {
    "DefaultSource": "datasource",
    "HistoryAndLive": "session.history_and_live",
    "LocalPulsar": "tools.standalone",
    "PulsarDataSource": "datasource",
    "PulsarError": "errors",
    "PulsarProgressListener": "tools.monitoring.listener",
    "audit": "inspect.tables",
    "catalog_jar": "session.configure",
    "check_workers": "spark.shipped_objects",
    "configure": "session.configure",
    "history_and_live": "session.history_and_live",
    "install_error_hook": "session.error_hook",
    "plan": "inspect.tables",
    "register": "datasource",
    "segments": "inspect.tables",
    "stop_at_end": "tools.monitoring.stop_at_end",
    "tier": "session.tier",
    "watch": "tools.monitoring.watch",
}
__all__ = [*_MODULES]  # noqa: PLE0604 -- names of the mapping

logging.getLogger(__name__).addHandler(PrintableRecords())


def load_ipython_extension(_shell: Any) -> None:
    """Install the error hook, for `%load_ext pyspark_pulsar`."""
    __getattr__("install_error_hook")()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pyspark-pulsar")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, "PulsarDataSource" if name == "DefaultSource" else name)


def __dir__() -> list[str]:
    """Return the public names for completion and `help`, without importing them."""
    return sorted({*globals(), *__all__})
