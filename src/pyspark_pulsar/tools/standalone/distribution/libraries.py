"""A server that is assembled from libraries on Maven Central. The checksum of each library is pinned.

Maven Central has the libraries of each version, but not the distribution of each version. Each list in `pinned` names
all libraries of one server, with one library per line: `group:artifact:version[:classifier] size sha256`. Fetching a
server resolves no versions, so every machine gets the same server. `scripts/pin_server.py` writes the lists.
"""

import functools
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pyspark_pulsar.errors import StandaloneFailed
from pyspark_pulsar.tools.standalone.distribution.artifact import ServerArtifact


@dataclass(frozen=True)
class Library:
    """A jar on Maven Central. `size` is in bytes, and `sha256` is in hexadecimal."""

    group: str
    artifact: str
    version: str
    classifier: str
    size: int
    sha256: str

    @classmethod
    def parse(cls, line: str) -> "Library":
        """Parse a line of a list in `pinned`. Raises ValueError if the line has another form."""
        coordinates, size, sha256 = line.split()
        group, artifact, version, *classifier = coordinates.split(":")
        return cls(group, artifact, version, "".join(classifier), int(size), sha256)

    @property
    def line(self) -> str:
        """The line for this library in a list in `pinned`."""
        coordinates = ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier)))
        return f"{coordinates} {self.size} {self.sha256}"

    @property
    def repository_folder(self) -> str:
        """The folder of the jar in Maven's local repository (Maven 2 layout)."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}"

    @property
    def file(self) -> str:
        """The name of the jar's file in Maven's local repository."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    @property
    def file_with_group(self) -> str:
        """The name of the jar's file in the server's folder `lib`. Pulsar's distributions use the same file name."""
        return f"{self.group}-{self.file}"

    @property
    def dependency(self) -> str:
        """The XML of a dependency on this jar for a POM, without transitive dependencies."""
        classifier = f"<classifier>{self.classifier}</classifier>" if self.classifier else ""
        return (
            f"<dependency><groupId>{self.group}</groupId><artifactId>{self.artifact}</artifactId>"
            f"<version>{self.version}</version>{classifier}<exclusions><exclusion><groupId>*</groupId>"
            "<artifactId>*</artifactId></exclusion></exclusions></dependency>"
        )


@dataclass(frozen=True)
class ServerLibraries:
    """A server of Pulsar `version` whose start script and configuration are from the distribution `base`."""

    version: str
    base: ServerArtifact

    @property
    def folder(self) -> str:
        """The name of the server's folder in the cache."""
        return f"pulsar-{self.version}-of-libraries"

    @property
    def coordinates(self) -> str:
        """The name of the download in messages."""
        return f"the libraries of Pulsar {self.version}"

    @property
    def sha512(self) -> str:
        """The checksum of all parts of the server, in hexadecimal."""
        text = _pinned(self.version) + self.base.sha512
        return hashlib.sha512(text.encode()).hexdigest()

    @property
    def libraries(self) -> tuple[Library, ...]:
        """The libraries of the server."""
        return tuple(Library.parse(line) for line in _pinned(self.version).splitlines())

    @property
    def size(self) -> int:
        """The size of all libraries, in bytes."""
        return sum(library.size for library in self.libraries)

    @property
    def pom(self) -> str:
        """The POM of a project that depends on exactly these libraries."""
        dependencies = "\n".join(library.dependency for library in self.libraries)
        return (
            '<project xmlns="http://maven.apache.org/POM/4.0.0">\n<modelVersion>4.0.0</modelVersion>\n'
            "<groupId>org.pysparkpulsar</groupId><artifactId>server</artifactId>"
            f"<version>{self.version}</version><packaging>pom</packaging>\n"
            f"<dependencies>\n{dependencies}\n</dependencies>\n</project>\n"
        )


@functools.cache
def _pinned(version: str) -> str:
    return (files(__package__) / "pinned" / f"{version}.txt").read_text(encoding="ascii")


def library_is_whole(library: Library, jar: Path) -> bool:
    """Return whether `jar` exists and has exactly the pinned bytes."""
    if not jar.is_file() or jar.stat().st_size != library.size:
        return False
    with jar.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == library.sha256


def copy_libraries(server: ServerLibraries, repository: Path, target: Path) -> None:
    """Copy the libraries from Maven's local `repository` into the new folder `target`.

    A jar that does not match its pinned checksum is deleted from the repository, because otherwise Maven would use the
    jar again.

    Raises:
        StandaloneFailed: Some jars do not match their pinned checksums. The error names all of these jars.

    """
    target.mkdir()
    wrong = []
    for library in server.libraries:
        jar = repository / library.repository_folder / library.file
        if library_is_whole(library, jar):
            (target / library.file_with_group).write_bytes(jar.read_bytes())
        else:
            jar.unlink(missing_ok=True)
            wrong.append(library.file)
    if wrong:
        msg = (
            f"expected {server.coordinates} with the pinned checksums, got other files: {', '.join(wrong)}. "
            "The Maven repository or mirror that mvn uses serves wrong files; check Maven's settings.xml."
        )
        raise StandaloneFailed(msg)
