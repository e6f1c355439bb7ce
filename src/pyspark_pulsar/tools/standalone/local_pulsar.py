"""One local Pulsar server: start, stop, status; as a context manager it ends with the caller."""

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
    """Of an instance: STARTING also covers a server that lives but does not answer."""

    RUNNING = "running"
    STARTING = "starting"
    STOPPED = "stopped"


@dataclass(frozen=True)
class InstanceStatus:
    """What is known about an instance. The URLs and the process id are None unless a process lives."""

    state: InstanceState
    data: Path
    log_file: Path
    service_url: str | None
    admin_url: str | None
    pid: int | None
    version: str | None


class LocalPulsar:
    """A Pulsar standalone server on the loopback interface, with one data folder of its own.

    `name` picks a data folder in the cache, `data` gives any other folder. Ports that are not given are
    chosen: those of the last start if they are free. `config` holds more settings for
    `standalone.conf`, by Pulsar's names. Transactions are on; messages and topics are kept for ever.
    `version` is one of `SERVER_VERSIONS`; not given, it is that of the last start on the data, else `DEFAULT_VERSION`.

    In a `with` block the server is stopped at the end, and also if this process is killed. Without one, call `start`:
    making the object touches nothing. Raises `OptionError` for a `name` that is not a plain file name, and for
    a `version` that cannot be had.
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
            msg = f"expected an instance name of letters, digits, '.', '_' and '-', got {name!r}."
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
        """For Pulsar clients. Raises `StandaloneFailed` unless the server runs."""
        return self._running().service_url

    @property
    def admin_url(self) -> str:
        """Of the admin REST API. Raises `StandaloneFailed` unless the server runs."""
        return self._running().admin_url

    @property
    def version(self) -> str:
        """Of Pulsar: the one given, else that of the last start on the data, else the default."""
        record = read_record(self._record_file)
        return self._version_after(record)

    @property
    def home(self) -> Path:
        """The folder of the server, with Pulsar's `bin`, `conf` and `lib`; fetched if that has not happened yet.

        Of the programs in `bin` only `pulsar` is there where the server is put together from libraries.
        """
        return fetch_server(server_of(self.version))

    def start(self, *, with_caller: bool = False) -> bool:
        """Start the server and wait until it serves; False when it already ran.

        The server outlives this process, unless `with_caller`: then it is ended when this process dies.
        After an error nothing of the server is left running. Raises `PrerequisiteMissing` without a
        JDK or Maven, `StandaloneFailed` with the end of the server's log when it does not come up, when a server
        of another version than the given one runs, or a newer one wrote the data.
        """
        # Before anything is fetched; what counts is what the record says under the lock.
        self._check_version(read_record(self._record_file))
        home = self.home
        check_java()
        self.data.mkdir(parents=True, exist_ok=True)
        with self._locked():
            before = read_record(self._record_file)
            self._check_version(before)
            if before is not None and before.alive():
                self._wait_until_healthy(before)
                return False
            record = self._serve(home, before, with_caller=with_caller)
            if registers_endlessly(self.log_file):
                # An orderly end takes the registration back.
                self._end(record)
                self._serve(home, record, with_caller=with_caller)
        return True

    def stop(self) -> bool:
        """Stop the server and wait until its process is gone; False when none ran.

        Sends signals only to the process that was recorded at the start, never to another one that got
        its id. Raises `StandaloneFailed` when the process does not even end on SIGKILL.
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
        """What is known now; waits for nothing but one answer of the server."""
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
        """The environment in which `home/bin/pulsar-client`, `pulsar-admin` and `pulsar-perf` use this server.

        Raises `StandaloneFailed` unless the server runs.
        """
        record = self._running()
        client_conf = self.data / "client.conf"
        urls = {"webServiceUrl": record.admin_url, "brokerServiceUrl": record.service_url}
        write_settings(self.home / "conf" / "client.conf", client_conf, urls)
        logs = str(self.data / "logs")
        return {**plain_environment(), "PULSAR_CLIENT_CONF": str(client_conf), "PULSAR_LOG_DIR": logs}

    def __enter__(self) -> Self:
        """Start; raises `StandaloneFailed` when the instance already runs, as it would not be ours to stop."""
        if not self.start(with_caller=True):
            msg = (
                f"a server already runs on {self.data} at {self.service_url}. Use that, stop it with "
                "`pyspark-pulsar standalone stop`, or choose another name or data folder."
            )
            raise StandaloneFailed(msg)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    @property
    def _record_file(self) -> Path:
        return self.data / "instance.json"

    def _locked(self) -> AbstractContextManager[None]:
        patience = self._start_deadline_seconds + _LOCK_MARGIN_SECONDS
        doing = f"starting or stopping the server on {self.data}"
        return locked(self.data / ".lock", deadline_seconds=patience, doing=doing)

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

    def _check_version(self, before: InstanceRecord | None) -> None:
        wanted = self._wanted_version
        if before is None or wanted is None or wanted == before.version:
            return
        if before.alive():
            msg = (
                f"expected Pulsar {wanted} on {self.data}, but Pulsar {before.version} runs there. "
                "Stop it first, or choose another name or data folder."
            )
            raise StandaloneFailed(msg)
        if is_older(wanted, before.version):
            msg = (
                f"expected data that Pulsar {wanted} can read, but Pulsar {before.version}, which is "
                f"newer, wrote those in {self.data}. Choose another name or data folder."
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
            msg = f"{error}; the end of its log {self.log_file}:\n{end_of_log(self.log_file)}"
            raise StandaloneFailed(msg) from None

    def _end(self, record: InstanceRecord) -> None:
        if record.process is not None and not record.process.end(_STOP_GRACE_SECONDS, _KILL_SECONDS):
            msg = f"the Pulsar server with process id {record.process.pid} does not end, even on SIGKILL."
            raise StandaloneFailed(msg)
        if self._server is not None:
            self._server.reap(_KILL_SECONDS)
            self._server = None
        write_record(self._record_file, dataclasses.replace(record, process=None))
