"""The server distribution: its name on Maven Central, its checksum, and its unpacked form.

Pulsar publishes its distribution at `org.apache.pulsar:pulsar-server-distribution` (type `tar.gz`, classifier `bin`).
The unpacked folder also contains a list of its files with their sizes. So an incomplete copy is detected without
reading all files.
"""

import contextlib
import hashlib
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark_pulsar.errors import StandaloneFailed

_LISTING = ".pyspark-pulsar-files.json"
WORKPLACE_PREFIX = ".unpack-"


@dataclass(frozen=True)
class ServerArtifact:
    """A distribution of one version of Pulsar.

    `size` is the archive's size in bytes, and `sha512` is the archive's checksum in hexadecimal. `folder` is the only
    top-level folder in the archive.
    """

    group: str
    name: str
    version: str
    size: int
    sha512: str
    folder: str

    @property
    def coordinates(self) -> str:
        """The coordinates for Maven's command line."""
        return f"{self.group}:{self.name}:{self.version}:tar.gz:bin"

    @property
    def repository_path(self) -> str:
        """The path of the archive in Maven's local repository (Maven 2 layout)."""
        return (
            f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.name}-{self.version}-bin.tar.gz"
        )


class Pinned(Protocol):
    """The pinned content of a folder in the cache.

    `sha512` is the checksum of the whole content, and `version` is the version of Pulsar.
    """

    @property
    def version(self) -> str: ...
    @property
    def sha512(self) -> str: ...


def archive_is_whole(artifact: ServerArtifact, archive: Path) -> bool:
    """Return whether `archive` exists and has exactly the published bytes."""
    if not archive.is_file() or archive.stat().st_size != artifact.size:
        return False
    with archive.open("rb") as stream:
        return hashlib.file_digest(stream, "sha512").hexdigest() == artifact.sha512


def unpacked_is_whole(server: Pinned, home: Path) -> bool:
    """Return whether `home` contains exactly this server, and all files have their full size.

    Only sizes are compared, and not contents, so the comparison takes about 10 ms for the 400 files of Pulsar.
    Additional files are allowed.
    """
    try:
        listing = json.loads((home / _LISTING).read_text())
        if listing["sha512"] != server.sha512:
            return False
        return all((home / name).lstat().st_size == size for name, size in listing["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def unpack(artifact: ServerArtifact, archive: Path, home: Path) -> None:
    """Unpack a complete `archive` into `home`. The folder `home` never exists with only some of its files.

    An existing `home` is replaced. The caller must have locked the parent folder.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    with workplace_in(home.parent) as workplace:
        with tarfile.open(archive) as packed:
            # Python before 3.11.4 has no filters. With these versions, only the checksum protects against a harmful
            # archive.
            packed.extraction_filter = getattr(tarfile, "data_filter", None)
            packed.extractall(workplace)  # noqa: S202 - checksummed, and filtered where Python can
        unpacked = workplace / artifact.folder
        if not unpacked.is_dir():
            msg = (
                f"expected the folder {artifact.folder} in {archive}, got {sorted(_names(workplace))}; delete the "
                f"archive, and try again."
            )
            raise StandaloneFailed(msg)
        place(artifact, unpacked, home, workplace)


@contextlib.contextmanager
def workplace_in(folder: Path) -> Iterator[Path]:
    """Yield a new folder in `folder`, and delete the new folder at the end.

    After a crash, the next call of `fetch_server` deletes the new folder.
    """
    workplace = Path(tempfile.mkdtemp(prefix=WORKPLACE_PREFIX, dir=folder))
    try:
        yield workplace
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def place(server: Pinned, made: Path, home: Path, workplace: Path) -> None:
    """Write the list of files into the folder `made`, and rename `made` to `home`.

    An existing `home` is moved into `workplace`.
    """
    _write_listing(server, made)
    if home.exists():
        home.rename(workplace / "replaced")
    made.rename(home)


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def _write_listing(server: Pinned, home: Path) -> None:
    files = {
        str(path.relative_to(home)): path.lstat().st_size for path in home.rglob("*") if not path.is_dir()
    }
    (home / _LISTING).write_text(json.dumps({"sha512": server.sha512, "files": files}, indent=0))
