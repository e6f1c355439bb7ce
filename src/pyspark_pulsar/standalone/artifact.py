"""The server distribution: its name on Maven Central, its checksum, and its unpacked form.

Pulsar publishes its distribution at `org.apache.pulsar:pulsar-server-distribution` (type `tar.gz`,
classifier `bin`). Beside the unpacked files lies a list of them with their sizes, so that a cut-off or
half-deleted copy is noticed without reading it whole.
"""

import hashlib
import json
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyspark_pulsar.errors import StandaloneFailed

_LISTING = ".pyspark-pulsar-files.json"


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


PULSAR_SERVER = ServerArtifact(
    group="org.apache.pulsar",
    name="pulsar-server-distribution",
    version="4.0.8",
    size=245_494_718,
    sha512=(
        "65b769b10696cdfebf7fc5bcdc95dd663702e27051e616c1a13cb100e91279525"
        "be35352171befe7b0011176330aab29bd0a6c8a0f2f0646641af46d2e33cbd6"
    ),
    folder="apache-pulsar-4.0.8",
)

PULSAR_OFFLOADERS = ServerArtifact(
    group="org.apache.pulsar",
    name="pulsar-offloader-distribution",
    version="4.0.8",
    size=62_028_727,
    sha512=(
        "f0e98550b99271c02863eb91cb250b580524e198669ff14ec8341f2eadad886ab"
        "b54a0f593449350b2a60672e626bead6bd813179788bc7e938ff56a2b28e0a7"
    ),
    folder="apache-pulsar-offloaders-4.0.8",
)
"""What a broker needs to move ledgers to tiered storage; its folder `offloaders` is `offloadersDirectory`."""


def archive_is_whole(artifact: ServerArtifact, archive: Path) -> bool:
    """Whether `archive` exists and has exactly the published bytes."""
    if not archive.is_file() or archive.stat().st_size != artifact.size:
        return False
    with archive.open("rb") as stream:
        return hashlib.file_digest(stream, "sha512").hexdigest() == artifact.sha512


def unpacked_is_whole(artifact: ServerArtifact, home: Path) -> bool:
    """Whether `home` was unpacked from exactly this artifact and still has all its files in full size.

    Compares sizes, not contents: about 10 ms for the 400 files of Pulsar. Files that are there in
    addition do no harm.
    """
    try:
        listing = json.loads((home / _LISTING).read_text())
        if listing["sha512"] != artifact.sha512:
            return False
        return all((home / name).lstat().st_size == size for name, size in listing["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def unpack(artifact: ServerArtifact, archive: Path, home: Path) -> None:
    """Unpack a whole `archive` so that `home` appears complete or not at all.

    An older `home` is replaced. The caller holds the lock of the folder around `home`.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    workplace = Path(tempfile.mkdtemp(prefix=".unpack-", dir=home.parent))
    try:
        with tarfile.open(archive) as packed:
            # Python before 3.11.4 has no filters; there the checksum alone vouches for the archive.
            packed.extraction_filter = getattr(tarfile, "data_filter", None)
            packed.extractall(workplace)  # noqa: S202 - checksummed, and filtered where Python can
        unpacked = workplace / artifact.folder
        if not unpacked.is_dir():
            msg = f"expected the folder {artifact.folder} in {archive}, got {sorted(_names(workplace))}."
            raise StandaloneFailed(msg)
        _write_listing(artifact, unpacked)
        if home.exists():
            home.rename(workplace / "replaced")
        unpacked.rename(home)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def _write_listing(artifact: ServerArtifact, home: Path) -> None:
    files = {
        str(path.relative_to(home)): path.lstat().st_size for path in home.rglob("*") if not path.is_dir()
    }
    (home / _LISTING).write_text(json.dumps({"sha512": artifact.sha512, "files": files}, indent=0))
