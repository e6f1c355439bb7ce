"""Builds the wheels that users get: `python scripts/build_wheels.py [--out FOLDER] [PLATFORM...]`.

By default that of this machine. A platform is linux-x86_64, linux-aarch64 or macos-arm64. The catalog's jar must be
there (`make jar`). Zig links for Linux, so that the wheels run on glibc 2.17 and later wherever they were built. The
kernel holds no path of this machine.

Rust's standard library for another platform is the one of rustup, where it was added (`rustup target add`). Else a
compiler with that library comes from Debian's packages. Nothing else is fetched but crates.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {
    "linux-x86_64": "x86_64-unknown-linux-gnu",
    "linux-aarch64": "aarch64-unknown-linux-gnu",
    "macos-arm64": "aarch64-apple-darwin",
}
_GLIBC = "manylinux_2_17"
# Debian's names of processors.
_DEBIAN = {"linux-x86_64": "amd64", "linux-aarch64": "arm64"}
_RUSTC = """\
#!/bin/sh
# Debian's compiler with its own C library, whatever this machine has.
exec "{lib}/{loader}" --library-path "{lib}" "{root}/usr/bin/rustc" --sysroot "{root}/usr" "$@"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", default="dist", help="where the wheels go")
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=", ".join(TARGETS))
    given = parser.parse_args()
    for each in given.platforms or [this_platform()]:
        if each not in TARGETS:
            parser.error(f"expected a platform of {', '.join(TARGETS)}, got {each}")
        build(each, given.out)
    return 0


def this_platform() -> str:
    """Raises SystemExit where there are no wheels for this machine."""
    system = {"Darwin": "macos"}.get(platform.system(), platform.system().lower())
    name = f"{system}-{platform.machine()}"
    if name not in TARGETS:
        raise SystemExit(f"expected a machine of {', '.join(TARGETS)}, got {name}; install from the source")
    return name


def build(name: str, out: str) -> None:
    """One wheel, into `out`. Raises CalledProcessError when a step fails; what it printed says why."""
    command = [sys.executable, "-m", "maturin", "build", "--locked", "--profile", "wheel"]
    command += ["--target", TARGETS[name], "--out", out]
    if name.startswith("linux"):
        command += ["--zig", "--compatibility", _GLIBC]
    subprocess.run(command, cwd=ROOT, env={**_environment(), **_compiler(name)}, check=True)


def _environment() -> dict[str, str]:
    """That of this process, and flags that take the paths of this machine out of what is compiled."""
    # An interpreter of this machine is none of the target's; abi3 needs none.
    kept = {key: value for key, value in os.environ.items() if key not in ("PYO3_PYTHON", "RUSTFLAGS")}
    crates = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    flags = [
        f"--remap-path-prefix={place}={name}"
        for place, name in ((crates, "/crates"), (ROOT, "/pyspark-pulsar"))
    ]
    search = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags), "PATH": search}


def _compiler(name: str) -> Mapping[str, str]:
    """Variables that name a compiler which can build for a platform; none where cargo's own can."""
    if _has_library(TARGETS[name]):
        return {}
    if name not in _DEBIAN or this_platform() not in _DEBIAN:
        raise SystemExit(
            f"expected Rust's standard library for {TARGETS[name]}, got none; add it (rustup target add "
            f"{TARGETS[name]}), or build this wheel on a machine of its own kind"
        )
    return {"RUSTC": str(_debian_rustc(name))}


def _has_library(target: str) -> bool:
    shown = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", target], capture_output=True, text=True, check=False
    )
    return shown.returncode == 0 and any(Path(shown.stdout.strip()).glob("libstd-*.rlib"))


def _debian_rustc(name: str) -> Path:
    """Debian's compiler for this machine, with the libraries of this machine and of platform `name`."""
    own, other = _DEBIAN[this_platform()], _DEBIAN[name]
    cache = Path(os.environ.get("PYSPARK_PULSAR_CACHE", Path.home() / ".cache" / "pyspark-pulsar"))
    root = cache / f"debian-rust-{other}"
    alone = [
        word for package in (f"rustc:{own}", f"libstd-rust-dev:{other}") for word in ("--alone", package)
    ]
    subprocess.run([ROOT / "scripts" / "debian_root.sh", root, *alone, f"libstd-rust-dev:{own}"], check=True)
    wrapper = root / "rustc"
    (loader,) = (root / "usr").glob("lib*/ld-linux-*.so.*")
    lib = root / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    wrapper.write_text(_RUSTC.format(lib=lib, loader=loader.name, root=root))
    wrapper.chmod(0o755)
    return wrapper


if __name__ == "__main__":
    sys.exit(main())
