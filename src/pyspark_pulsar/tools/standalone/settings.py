"""Configuration and environment of a server: Pulsar's own `standalone.conf` and the settings of this package.

The file has the format of Java's properties. If a key occurs several times, Pulsar uses the last value.
"""

import os
import random
import socket
from collections.abc import Mapping
from pathlib import Path

from pyspark_pulsar.errors import OptionError, StandaloneFailed
from pyspark_pulsar.java_properties import escaped

LOOPBACK = "127.0.0.1"

# These ports are below the range that kernels use for outgoing connections. So no other program opens a port by chance
# between the check and the server's bind.
_FREE_PORTS = range(20_000, 32_000)
_FREE_PORT_TRIES = 200

_OWN_OPTIONS = {"brokerServicePort": "broker_port", "webServicePort": "web_port"}
_FOREIGN_VARIABLES = ("PULSAR_", "BOOKIE_", "BK_")


def server_settings(broker_port: int, web_port: int, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that differ from Pulsar's `standalone.conf`. Settings in `extra` override these settings.

    Raises:
        OptionError: `extra` has a setting for which this package has an option.

    """
    for key, option in _OWN_OPTIONS.items():
        if key in extra:
            msg = f"server setting {key}: expected no value, because {option} sets the port; use {option}."
            raise OptionError(msg)
    return {
        "brokerServicePort": str(broker_port),
        "webServicePort": str(web_port),
        "bindAddress": LOOPBACK,
        "advertisedAddress": LOOPBACK,
        # By default, the bookie listens on all interfaces.
        "listeningInterface": _loopback_interface(),
        "allowLoopback": "true",
        "transactionCoordinatorEnabled": "true",
        # By default, Pulsar deletes a topic without subscriptions, and its data, after 60 s. A first-time user would
        # lose messages.
        "brokerDeleteInactiveTopicsEnabled": "false",
        "defaultRetentionTimeInMinutes": "-1",
        "defaultRetentionSizeInMB": "-1",
        "journalSyncData": "false",
        # Pulsar's `bookkeeper.conf` has this value. Without this setting, a bookie reads its disk in blocks of 512
        # bytes.
        "readBufferSizeBytes": "4096",
        **extra,
    }


def _loopback_interface() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in ("lo", "lo0") if name in names), "lo")


def write_settings(base: Path, target: Path, settings: Mapping[str, str]) -> None:
    """Write the text of `base`, and then `settings`, to `target`.

    Raises:
        OptionError: A value has a line break, which would add another setting.

    """
    for key, value in settings.items():
        if "\n" in f"{key}{value}" or "=" in key:
            msg = (
                f"server setting {key!r}: expected one line and a name without '=', got the value {value!r}; correct "
                f"the setting."
            )
            raise OptionError(msg)
    # The file of Pulsar 4.0.8 has no line break at its end, so begin a new line before the settings.
    lines = [base.read_text(encoding="utf-8"), "", "# Set by pyspark-pulsar"]
    lines += [f"{key}={escaped(value)}" for key, value in settings.items()]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def server_environment(conf: Path, logs: Path, heap_mebibytes: int) -> dict[str, str]:
    """Return the environment for `bin/pulsar`, without the caller's variables that would configure this script."""
    heap = f"{heap_mebibytes}m"
    return {
        **plain_environment(),
        "PULSAR_STANDALONE_CONF": str(conf),
        "PULSAR_LOG_DIR": str(logs),
        "PULSAR_MEM": f"-Xms256m -Xmx{heap} -XX:MaxDirectMemorySize={heap}",
        # By default, the script touches the whole heap at the start, which costs seconds and memory.
        "PULSAR_GC": "-XX:+UseG1GC -XX:+PerfDisableSharedMem",
        "PULSAR_GC_LOG": "-Xlog:gc*=off",
    }


def plain_environment() -> dict[str, str]:
    """Return the caller's environment without the variables that would configure Pulsar's scripts or their JVM."""
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(_FOREIGN_VARIABLES) and key not in {"OPTS", "CLASSPATH"}
    }


def choose_port(port_option: int | None, before: int | None, *, avoid: int | None = None) -> int:
    """Return `port_option`, or a free port of the loopback interface, preferably `before`.

    Args:
        port_option: The requested port; None means any free port.
        before: The port of the instance's last start.
        avoid: A port that is in use by the same server.

    Raises:
        OptionError: `port_option` is not a valid port number.
        StandaloneFailed: `port_option` is in use, or no free port was found.

    """
    if port_option is not None:
        if not 0 < port_option < 2**16:
            msg = f"port of the server: expected 1 to 65535, got {port_option}; choose another port."
            raise OptionError(msg)
        if not _is_free(port_option) or port_option == avoid:
            msg = (
                f"port {port_option} on {LOOPBACK} is taken by another program or by this server. Choose another "
                f"port, or omit the port to use a free port."
            )
            raise StandaloneFailed(msg)
        return port_option
    candidates = [] if before is None else [before]
    candidates += random.sample(_FREE_PORTS, _FREE_PORT_TRIES)
    for port in candidates:
        if port != avoid and _is_free(port):
            return port
    msg = (
        f"found no free port on {LOOPBACK} from {_FREE_PORTS.start} to {_FREE_PORTS.stop - 1}; choose a port."
    )
    raise StandaloneFailed(msg)


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Java's server sockets set this option too. With this option, a port is free if its only connections are closed
        # and lingering.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
