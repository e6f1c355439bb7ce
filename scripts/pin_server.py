"""Write the list of libraries from which a version of Pulsar's server is assembled.

    .venv/bin/python scripts/pin_server.py 4.2.4

Maven resolves the dependencies of that version's broker. The broker depends on no implementation of logging, so this
script adds an implementation. Its version is from the parent POM of the broker's version, or from the list below.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import tempfile
from pathlib import Path

from pyspark_pulsar.tools.standalone import NEWEST_VERSION
from pyspark_pulsar.tools.standalone.distribution import libraries
from pyspark_pulsar.tools.standalone.distribution.libraries import Library
from pyspark_pulsar.tools.standalone.distribution.maven import DEPENDENCY_PLUGIN

_PINNED = Path(libraries.__file__).parent / "pinned"
_LOGGING = "org.apache.logging.log4j"
# Additional dependencies: group, artifact, and the version if the parent POM names none.
_BESIDE = {
    "3.0.7": [
        (_LOGGING, "log4j-core", ""),
        (_LOGGING, "log4j-slf4j-impl", ""),
        ("io.prometheus", "simpleclient_log4j2", ""),
    ],
    "4.2.4": [
        (_LOGGING, "log4j-core", ""),
        (_LOGGING, "log4j-slf4j2-impl", ""),
        ("io.prometheus", "simpleclient_log4j2", ""),
    ],
    "5.0.0-M1": [
        ("org.apache.pulsar", "pulsar-client-v5", "5.0.0-M1"),
        ("org.slf4j", "slf4j-api", "2.0.18"),
        (_LOGGING, "log4j-core", "2.25.4"),
        (_LOGGING, "log4j-slf4j2-impl", "2.25.4"),
        ("io.prometheus", "simpleclient_log4j2", "0.16.0"),
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version", nargs="?", default=NEWEST_VERSION, choices=sorted(_BESIDE))
    version = parser.parse_args().version
    with tempfile.TemporaryDirectory() as folder:
        pom = Path(folder, "pom.xml")
        pom.write_text(_project(version))
        command = ["mvn", "--batch-mode", "--quiet", "--strict-checksums", "--file", str(pom)]
        command += [f"{DEPENDENCY_PLUGIN}:copy-dependencies", "-DincludeScope=runtime"]
        command += ["-Dmdep.useRepositoryLayout=true", f"-DoutputDirectory={folder}/jars"]
        subprocess.run(command, check=True)
        lines = pinned(Path(folder, "jars"))
    (_PINNED / f"{version}.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


def pinned(repository: Path) -> list[str]:
    """Return the lines of the list, from a folder in the layout of a Maven repository that contains only these jars."""
    return sorted(_library(jar, jar.relative_to(repository)).line for jar in repository.rglob("*.jar"))


def _library(jar: Path, path: Path) -> Library:
    *group, artifact, version, file = path.parts
    classifier = file.removeprefix(f"{artifact}-{version}").removesuffix(".jar").removeprefix("-")
    content = jar.read_bytes()
    return Library(
        ".".join(group), artifact, version, classifier, len(content), hashlib.sha256(content).hexdigest()
    )


def _project(version: str) -> str:
    dependencies = [("org.apache.pulsar", "pulsar-broker", version), *_BESIDE[version]]
    named = "\n".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"{f'<version>{given}</version>' if given else ''}</dependency>"
        for group, artifact, given in dependencies
    )
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>org.pysparkpulsar</groupId><artifactId>pin</artifactId><version>1</version><packaging>pom</packaging>
<dependencyManagement><dependencies><dependency>
<groupId>org.apache.pulsar</groupId><artifactId>pulsar</artifactId><version>{version}</version>
<type>pom</type><scope>import</scope>
</dependency></dependencies></dependencyManagement>
<dependencies>
{named}
</dependencies>
</project>
"""


if __name__ == "__main__":
    main()
