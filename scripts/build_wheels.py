"""Build the wheels for users: `python scripts/build_wheels.py [--out FOLDER] [PLATFORM...]`.

The default is the wheel of this machine. A platform is linux-x86_64, linux-aarch64 or macos-arm64. The jar of the
catalog must exist (`make jar`). Zig links for Linux, so the wheels run on glibc 2.17 and later, wherever they were
built. The kernel contains no path of this machine.

If Rust's standard library for another platform was added with rustup (`rustup target add`), that library is used.
Otherwise, a compiler with that library is downloaded from Debian's packages. Apart from crates, nothing else is
downloaded.
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
# Debian's compiler with Debian's C library.
exec "{lib}/{loader}" --library-path "{lib}" "{root}/usr/bin/rustc" --sysroot "{root}/usr" "$@"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", default="dist", help="folder for the wheels")
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=", ".join(TARGETS))
    given = parser.parse_args()
    for each in given.platforms or [this_platform()]:
        if each not in TARGETS:
            parser.error(f"expected a platform of {', '.join(TARGETS)}, got {each}")
        build(each, given.out)
    return 0


def this_platform() -> str:
    """Return the platform of this machine. Raises SystemExit if there are no wheels for it."""
    system = {"Darwin": "macos"}.get(platform.system(), platform.system().lower())
    name = f"{system}-{platform.machine()}"
    if name not in TARGETS:
        raise SystemExit(f"expected a machine of {', '.join(TARGETS)}, got {name}; install from the source")
    return name


def build(name: str, out: str) -> None:
    """Build one wheel into the folder `out`.

    Raises CalledProcessError after a failed step, which has printed its reason.
    """
    command = [sys.executable, "-m", "maturin", "build", "--locked", "--profile", "wheel"]
    command += ["--target", TARGETS[name], "--out", out]
    if name.startswith("linux"):
        command += ["--zig", "--compatibility", _GLIBC]
    subprocess.run(command, cwd=ROOT, env={**_environment(), **_compiler(name)}, check=True)


def _environment() -> dict[str, str]:
    """Return the environment of this process, with flags that remove the paths of this machine from compiled files."""
    # The kernel uses abi3, so its build needs no interpreter. Remove the interpreter in the environment, which is not
    # the interpreter of the target.
    kept = {key: value for key, value in os.environ.items() if key not in ("PYO3_PYTHON", "RUSTFLAGS")}
    crates = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    flags = [
        f"--remap-path-prefix={place}={name}"
        for place, name in ((crates, "/crates"), (ROOT, "/pyspark-pulsar"))
    ]
    search = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags), "PATH": search}


def _compiler(name: str) -> Mapping[str, str]:
    """Return variables that select a compiler for a platform; empty if cargo's own compiler is sufficient."""
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
    """Return Debian's compiler for this machine, with the libraries of this machine and of platform `name`."""
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
