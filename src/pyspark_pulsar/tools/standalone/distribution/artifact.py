"""The server distribution: its name on Maven Central, its checksum, and its unpacked form.

Pulsar publishes its distribution at `org.apache.pulsar:pulsar-server-distribution` (type `tar.gz`,
classifier `bin`). Beside the unpacked files lies a list of them with their sizes, so that a cut-off or
half-deleted copy is noticed without reading it whole.
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
    """One version of a distribution. `size` is in bytes, `sha512` in hex, `folder` the archive's only
    top-level folder."""

    group: str
    name: str
    version: str
    size: int
    sha512: str
    folder: str

    @property
    def coordinates(self) -> str:
        """As Maven's command line takes them."""
        return f"{self.group}:{self.name}:{self.version}:tar.gz:bin"

    @property
    def repository_path(self) -> str:
        """Where Maven's local repository keeps the archive (Maven 2 layout)."""
        return (
            f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.name}-{self.version}-bin.tar.gz"
        )


class Pinned(Protocol):
    """What a folder in the cache is made of: `sha512` is the checksum of it all, `version` Pulsar's."""

    @property
    def version(self) -> str: ...
    @property
    def sha512(self) -> str: ...


def archive_is_whole(artifact: ServerArtifact, archive: Path) -> bool:
    """Whether `archive` exists and has exactly the published bytes."""
    if not archive.is_file() or archive.stat().st_size != artifact.size:
        return False
    with archive.open("rb") as stream:
        return hashlib.file_digest(stream, "sha512").hexdigest() == artifact.sha512


def unpacked_is_whole(server: Pinned, home: Path) -> bool:
    """Whether `home` was made of exactly this and still has all its files in full size.

    Compares sizes, not contents: about 10 ms for the 400 files of Pulsar. Files that are there in
    addition do no harm.
    """
    try:
        listing = json.loads((home / _LISTING).read_text())
        if listing["sha512"] != server.sha512:
            return False
        return all((home / name).lstat().st_size == size for name, size in listing["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def unpack(artifact: ServerArtifact, archive: Path, home: Path) -> None:
    """Unpack a whole `archive` so that `home` appears complete or not at all.

    An older `home` is replaced. The caller holds the lock of the folder around `home`.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    with workplace_in(home.parent) as workplace:
        with tarfile.open(archive) as packed:
            # Python before 3.11.4 has no filters; there the checksum alone vouches for the archive.
            packed.extraction_filter = getattr(tarfile, "data_filter", None)
            packed.extractall(workplace)  # noqa: S202 - checksummed, and filtered where Python can
        unpacked = workplace / artifact.folder
        if not unpacked.is_dir():
            msg = f"expected the folder {artifact.folder} in {archive}, got {sorted(_names(workplace))}."
            raise StandaloneFailed(msg)
        place(artifact, unpacked, home, workplace)


@contextlib.contextmanager
def workplace_in(folder: Path) -> Iterator[Path]:
    """A new folder in `folder`, gone at the end; after a crash the next fetch removes it."""
    workplace = Path(tempfile.mkdtemp(prefix=WORKPLACE_PREFIX, dir=folder))
    try:
        yield workplace
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def place(server: Pinned, made: Path, home: Path, workplace: Path) -> None:
    """Move what was `made` of `server` to `home`, with the list of its files; an older `home` to the workplace."""
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
