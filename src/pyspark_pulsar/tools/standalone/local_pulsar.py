"""A local Pulsar server that a program can start and stop.

The server of a `with` block stops at the end of the block, or when the program ends.
"""

import dataclasses
import enum
import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark_pulsar.errors import OptionError, StandaloneFailed
from pyspark_pulsar.tools.standalone.cache import cache_root, locked
from pyspark_pulsar.tools.standalone.distribution.download import fetch_server
from pyspark_pulsar.tools.standalone.distribution.versions import (
    DEFAULT_VERSION,
    SERVER_VERSIONS,
    is_older,
    server_of,
)
from pyspark_pulsar.tools.standalone.launch import ServerProcess, check_java
from pyspark_pulsar.tools.standalone.record import InstanceRecord, read_record, write_record
from pyspark_pulsar.tools.standalone.server_health import is_healthy, wait_until_healthy
from pyspark_pulsar.tools.standalone.server_log import end_of_log, registers_endlessly
from pyspark_pulsar.tools.standalone.settings import (
    choose_port,
    plain_environment,
    server_environment,
    server_settings,
    write_settings,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_STOP_GRACE_SECONDS = 20.0
_KILL_SECONDS = 10.0
_LOCK_MARGIN_SECONDS = 60.0


class InstanceState(enum.StrEnum):
    """The state of an instance. STARTING is also the state of a running server that does not answer."""

    RUNNING = "running"
    STARTING = "starting"
    STOPPED = "stopped"


@dataclass(frozen=True)
class InstanceStatus:
    """The status of an instance. The URLs and the process id are None if no server process runs."""

    state: InstanceState
    data: Path
    log_file: Path
    service_url: str | None
    admin_url: str | None
    pid: int | None
    version: str | None


class LocalPulsar:
    """A Pulsar standalone server on the loopback interface, with its own data folder.

    A `with` block starts the server. The server stops at the end of the block, or if this process is killed. Without a
    block, call `start`, because creating the object starts nothing. Transactions are enabled. Messages and topics are
    kept forever.

    Args:
        name: The name of the instance's data folder in the cache.
        version: One of `SERVER_VERSIONS`; by default the version of the last start on the data folder. For a new data
            folder, the default is `DEFAULT_VERSION`.
        data: A data folder to use instead of a folder in the cache.
        broker_port: The port of the broker. By default, the port of the last start if this port is free, otherwise any
            free port.
        web_port: The port of the admin REST API, with the same default rule as `broker_port`.
        config: More settings for `standalone.conf`, by Pulsar's names.
        heap_mebibytes: The size of the heap of the server's JVM.
        start_deadline_seconds: The longest wait for the server to be healthy.

    Raises:
        OptionError: The name has characters that are not allowed, or the version is not available.

    """

    def __init__(
        self,
        *,
        name: str = "default",
        version: str | None = None,
        data: str | os.PathLike[str] | None = None,
        broker_port: int | None = None,
        web_port: int | None = None,
        config: Mapping[str, str] | None = None,
        heap_mebibytes: int = 1024,
        start_deadline_seconds: float = 180.0,
    ) -> None:
        if not _NAME.fullmatch(name):
            msg = (
                f"name of the instance: expected letters, digits, '.', '_' and '-', got {name!r}; choose another "
                f"name."
            )
            raise OptionError(msg)
        if version is not None:
            server_of(version)
        self.name = name
        self._wanted_version = version
        self.data = Path(data).absolute() if data is not None else cache_root() / "instances" / name
        self.log_file = self.data / "server.log"
        self._ports = broker_port, web_port
        self._config = dict(config or {})
        self._heap_mebibytes = heap_mebibytes
        self._start_deadline_seconds = start_deadline_seconds
        self._server: ServerProcess | None = None

    @property
    def service_url(self) -> str:
        """The URL for Pulsar clients. Raises `StandaloneFailed` if no server runs."""
        return self._running().service_url

    @property
    def admin_url(self) -> str:
        """The URL of the admin REST API. Raises `StandaloneFailed` if no server runs."""
        return self._running().admin_url

    @property
    def version(self) -> str:
        """The requested version of Pulsar.

        If no version is requested, this is the version of the last start on the data folder. For a new data folder,
        this is `DEFAULT_VERSION`.
        """
        record = read_record(self._record_file)
        return self._version_after(record)

    @property
    def home(self) -> Path:
        """The folder of the server, with Pulsar's `bin`, `conf` and `lib`. The server is downloaded if necessary.

        A server that is assembled from libraries has only the program `pulsar` in `bin`.
        """
        return fetch_server(server_of(self.version))

    def start(self, *, with_caller: bool = False) -> bool:
        """Start the server and wait until it is healthy. Return False if the server was running already.

        The server continues to run after this process ends, unless `with_caller` is true. If this method raises an
        error, it first ends any server process that it has started.

        Args:
            with_caller: End the server when this process dies.

        Raises:
            PrerequisiteMissing: A JDK or Maven is not installed.
            StandaloneFailed: The server did not start, another version runs, or a newer version wrote the data.

        """
        # Check the version before downloading anything. The check is repeated under the lock, because another process
        # can change the record before this process acquires the lock.
        self._require_compatible(read_record(self._record_file))
        home = self.home
        check_java()
        self.data.mkdir(parents=True, exist_ok=True)
        with self._locked():
            before = read_record(self._record_file)
            self._require_compatible(before)
            if before is not None and before.alive():
                self._wait_until_healthy(before)
                return False
            record = self._serve(home, before, with_caller=with_caller)
            if registers_endlessly(self.log_file):
                # Restart the server, because an orderly stop removes the registration of the bookie.
                self._end(record)
                self._serve(home, record, with_caller=with_caller)
        return True

    def stop(self) -> bool:
        """Stop the server and wait until its process has ended. Return False if no server was running.

        Signals are sent only to the process that was recorded at the start. A later process with the same id gets no
        signal.

        Raises:
            StandaloneFailed: The process does not end on SIGKILL.

        """
        if not self._record_file.exists():
            return False
        with self._locked():
            record = read_record(self._record_file)
            if record is None or record.process is None:
                return False
            ran = record.alive()
            self._end(record)
        return ran

    def status(self) -> InstanceStatus:
        """Return the present status. If a server runs, this method waits for the answer to a health check."""
        record = read_record(self._record_file)
        if record is None or record.process is None or not record.alive():
            version = None if record is None else record.version
            return InstanceStatus(InstanceState.STOPPED, self.data, self.log_file, None, None, None, version)
        healthy = is_healthy(record.admin_url, transactions=record.transactions)
        return InstanceStatus(
            state=InstanceState.RUNNING if healthy else InstanceState.STARTING,
            data=self.data,
            log_file=self.log_file,
            service_url=record.service_url,
            admin_url=record.admin_url,
            pid=record.process.pid,
            version=record.version,
        )

    def tool_environment(self) -> dict[str, str]:
        """Return the environment in which Pulsar's command-line tools use this server.

        The tools are `home/bin/pulsar-client`, `pulsar-admin` and `pulsar-perf`. Raises `StandaloneFailed` if no server
        runs.
        """
        record = self._running()
        client_conf = self.data / "client.conf"
        urls = {"webServiceUrl": record.admin_url, "brokerServiceUrl": record.service_url}
        write_settings(self.home / "conf" / "client.conf", client_conf, urls)
        logs = str(self.data / "logs")
        return {**plain_environment(), "PULSAR_CLIENT_CONF": str(client_conf), "PULSAR_LOG_DIR": logs}

    def __enter__(self) -> Self:
        """Start the server.

        Raises:
            StandaloneFailed: The server was running already, so the server must not end with this block.

        """
        if not self.start(with_caller=True):
            msg = (
                f"a server already runs on {self.data} at {self.service_url}. Use that server, stop it with "
                f"`pyspark-pulsar standalone stop`, or choose another name or data folder."
            )
            raise StandaloneFailed(msg)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server."""
        self.stop()

    @property
    def _record_file(self) -> Path:
        return self.data / "instance.json"

    def _locked(self) -> AbstractContextManager[None]:
        deadline_seconds = self._start_deadline_seconds + _LOCK_MARGIN_SECONDS
        doing = f"starting or stopping the server on {self.data}"
        return locked(self.data / ".lock", deadline_seconds=deadline_seconds, doing=doing)

    def _running(self) -> InstanceRecord:
        record = read_record(self._record_file)
        if record is None or not record.alive():
            msg = f"no server runs on {self.data}. Start it with `pyspark-pulsar standalone start`."
            raise StandaloneFailed(msg)
        return record

    def _version_after(self, before: InstanceRecord | None) -> str:
        if self._wanted_version is not None:
            return self._wanted_version
        return before.version if before is not None and before.version in SERVER_VERSIONS else DEFAULT_VERSION

    def _require_compatible(self, before: InstanceRecord | None) -> None:
        wanted = self._wanted_version
        if before is None or wanted is None or wanted == before.version:
            return
        if before.alive():
            msg = (
                f"expected Pulsar {wanted} on {self.data}, but Pulsar {before.version} runs there. "
                "Stop that server first, or choose another name or data folder."
            )
            raise StandaloneFailed(msg)
        if is_older(wanted, before.version):
            msg = (
                f"{self.data}: expected data that Pulsar {wanted} can read, got data of the newer Pulsar "
                f"{before.version}. Choose another name or data folder."
            )
            raise StandaloneFailed(msg)

    def _serve(self, home: Path, before: InstanceRecord | None, *, with_caller: bool) -> InstanceRecord:
        record = self._launch(home, before, with_caller=with_caller)
        try:
            write_record(self._record_file, record)
            self._wait_until_healthy(record)
        except BaseException:
            self._end(record)
            raise
        return record

    def _launch(self, home: Path, before: InstanceRecord | None, *, with_caller: bool) -> InstanceRecord:
        wanted_broker, wanted_web = self._ports
        broker_port = choose_port(wanted_broker, before.broker_port if before else None)
        web_port = choose_port(wanted_web, before.web_port if before else None, avoid=broker_port)
        settings = server_settings(broker_port, web_port, self._config)
        conf = self.data / "standalone.conf"
        write_settings(home / "conf" / "standalone.conf", conf, settings)
        command = [str(home / "bin" / "pulsar"), "standalone", "-nfw", "-nss"]
        command += ["--metadata-dir", str(self.data / "metadata")]
        command += ["--bookkeeper-dir", str(self.data / "bookkeeper")]
        environment = server_environment(conf, self.data / "logs", self._heap_mebibytes)
        self._server = ServerProcess(command, environment, self.log_file, with_caller=with_caller)
        return InstanceRecord(
            process=self._server.identity,
            broker_port=broker_port,
            web_port=web_port,
            version=self._version_after(before),
            transactions=settings["transactionCoordinatorEnabled"] == "true",
        )

    def _wait_until_healthy(self, record: InstanceRecord) -> None:
        try:
            wait_until_healthy(
                record.admin_url,
                record.alive,
                transactions=record.transactions,
                deadline_seconds=self._start_deadline_seconds,
            )
        except StandaloneFailed as error:
            msg = f"{error}; read the end of its log {self.log_file}:\n{end_of_log(self.log_file)}"
            raise StandaloneFailed(msg) from None

    def _end(self, record: InstanceRecord) -> None:
        if record.process is not None and not record.process.end(_STOP_GRACE_SECONDS, _KILL_SECONDS):
            msg = (
                f"the Pulsar server with process id {record.process.pid} does not end on SIGKILL; restart the "
                f"machine."
            )
            raise StandaloneFailed(msg)
        if self._server is not None:
            self._server.reap(_KILL_SECONDS)
            self._server = None
        write_record(self._record_file, dataclasses.replace(record, process=None))
