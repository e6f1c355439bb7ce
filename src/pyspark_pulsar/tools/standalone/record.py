"""The record of an instance's server, which is the file `instance.json` in the data folder.

The record is written before the server is healthy.
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from pyspark_pulsar.errors import StandaloneFailed
from pyspark_pulsar.tools.standalone.process import ProcessIdentity
from pyspark_pulsar.tools.standalone.settings import LOOPBACK

_FORMAT = 1


@dataclass(frozen=True)
class InstanceRecord:
    """The last start of an instance.

    After a stop, `process` is None. The record retains the ports, because the next start prefers the same ports.
    """

    process: ProcessIdentity | None
    broker_port: int
    web_port: int
    version: str
    transactions: bool

    @property
    def service_url(self) -> str:
        """The URL for Pulsar clients."""
        return f"pulsar://{LOOPBACK}:{self.broker_port}"

    @property
    def admin_url(self) -> str:
        """The URL of the admin REST API."""
        return f"http://{LOOPBACK}:{self.web_port}"

    def alive(self) -> bool:
        """Return whether the recorded server process still runs."""
        return self.process is not None and self.process.alive()


def read_record(path: Path) -> InstanceRecord | None:
    """Return the record, or None if the file does not exist. Raises StandaloneFailed if the file has another format."""
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        msg = (
            f"{path} is not an instance record of format {_FORMAT}. If no server runs on this data folder, "
            "remove the file."
        )
        raise StandaloneFailed(msg) from error


def _parsed(text: str) -> InstanceRecord:
    document = json.loads(text)
    if document.pop("format") != _FORMAT:
        msg = "another format"
        raise ValueError(msg)
    process = document.pop("process")
    return InstanceRecord(process=ProcessIdentity(**process) if process else None, **document)


def write_record(path: Path, record: InstanceRecord) -> None:
    """Replace the record atomically, so that no reader sees an incomplete record."""
    document = {"format": _FORMAT, **dataclasses.asdict(record)}
    draft = path.with_name(path.name + ".new")
    draft.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)
