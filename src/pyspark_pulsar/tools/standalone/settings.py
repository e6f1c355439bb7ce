"""The configuration and environment of one server: Pulsar's own `standalone.conf` plus our settings.

The file is in Java's properties format, in which the last of several equal keys counts.
"""

import os
import random
import socket
from collections.abc import Mapping
from pathlib import Path

from pyspark_pulsar.errors import OptionError, StandaloneFailed
from pyspark_pulsar.java_properties import escaped

LOOPBACK = "127.0.0.1"

# Below the range from which kernels take the ports of outgoing connections, so that no other program
# gets the port by chance between our look and the server's bind.
_FREE_PORTS = range(20_000, 32_000)
_FREE_PORT_TRIES = 200

_OWN_OPTIONS = {"brokerServicePort": "broker_port", "webServicePort": "web_port"}
_FOREIGN_VARIABLES = ("PULSAR_", "BOOKIE_", "BK_")


def server_settings(broker_port: int, web_port: int, extra: Mapping[str, str]) -> dict[str, str]:
    """The settings in which the server differs from Pulsar's `standalone.conf`; `extra` wins.

    Raises OptionError for a setting that this package sets through an option of its own.
    """
    for key, option in _OWN_OPTIONS.items():
        if key in extra:
            msg = f"the server setting {key} cannot be given among the extra settings; use {option}."
            raise OptionError(msg)
    return {
        "brokerServicePort": str(broker_port),
        "webServicePort": str(web_port),
        "bindAddress": LOOPBACK,
        "advertisedAddress": LOOPBACK,
        # Without it the bookie listens on all interfaces.
        "listeningInterface": _loopback_interface(),
        "allowLoopback": "true",
        "transactionCoordinatorEnabled": "true",
        # Pulsar deletes a topic without subscription after 60 s with its data; a newcomer's is kept.
        "brokerDeleteInactiveTopicsEnabled": "false",
        "defaultRetentionTimeInMinutes": "-1",
        "defaultRetentionSizeInMB": "-1",
        "journalSyncData": "false",
        # As in Pulsar's bookkeeper.conf. Without it a bookie reads its disk 512 bytes at a time.
        "readBufferSizeBytes": "4096",
        **extra,
    }


def _loopback_interface() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in ("lo", "lo0") if name in names), "lo")


def write_settings(base: Path, target: Path, settings: Mapping[str, str]) -> None:
    """Write `base`'s text and then `settings` to `target`.

    Raises OptionError for a value with a line break, which would smuggle in a second setting.
    """
    for key, value in settings.items():
        if "\n" in f"{key}{value}" or "=" in key:
            msg = f"expected a server setting of one line whose name has no '=', got {key!r}: {value!r}."
            raise OptionError(msg)
    # Pulsar 4.0.8's file does not end with a line break.
    lines = [base.read_text(encoding="utf-8"), "", "# Set by pyspark-pulsar"]
    lines += [f"{key}={escaped(value)}" for key, value in settings.items()]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def server_environment(conf: Path, logs: Path, heap_mebibytes: int) -> dict[str, str]:
    """The environment for `bin/pulsar`: the caller's, less the variables by which that script is steered."""
    heap = f"{heap_mebibytes}m"
    return {
        **plain_environment(),
        "PULSAR_STANDALONE_CONF": str(conf),
        "PULSAR_LOG_DIR": str(logs),
        "PULSAR_MEM": f"-Xms256m -Xmx{heap} -XX:MaxDirectMemorySize={heap}",
        # The script's default touches all of the heap at the start, which costs seconds and memory.
        "PULSAR_GC": "-XX:+UseG1GC -XX:+PerfDisableSharedMem",
        "PULSAR_GC_LOG": "-Xlog:gc*=off",
    }


def plain_environment() -> dict[str, str]:
    """The caller's environment without Pulsar's variables; a set `OPTS` also ends up in the JVM's options."""
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(_FOREIGN_VARIABLES) and key not in {"OPTS", "CLASSPATH"}
    }


def choose_port(port_option: int | None, before: int | None, *, avoid: int | None = None) -> int:
    """`port_option` if given; else `before`, the instance's last port, if free; else any free loopback port.

    Raises StandaloneFailed when `port_option` is taken.
    """
    if port_option is not None:
        if not 0 < port_option < 2**16:
            msg = f"expected a port from 1 to 65535, got {port_option}."
            raise OptionError(msg)
        if not _is_free(port_option) or port_option == avoid:
            msg = (
                f"port {port_option} on {LOOPBACK} is taken by another program. "
                "Stop that, give another port, or leave the port out to get a free one."
            )
            raise StandaloneFailed(msg)
        return port_option
    candidates = [] if before is None else [before]
    candidates += random.sample(_FREE_PORTS, _FREE_PORT_TRIES)
    for port in candidates:
        if port != avoid and _is_free(port):
            return port
    msg = f"found no free port on {LOOPBACK} from {_FREE_PORTS.start} to {_FREE_PORTS.stop - 1}; give one."
    raise StandaloneFailed(msg)


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Java's server sockets do: a port that only has closed connections lingering is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
