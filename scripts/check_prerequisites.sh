#!/usr/bin/env bash
# Prints a line for each prerequisite of the build that this machine lacks. The exit code is 1 if anything is missing.
# Usage: check_prerequisites.sh PYTHON [lint]    "lint" also requires rustfmt and clippy.
set -u
python=${1:-python3}
missing=0

lack() {
  echo "Missing: $1" >&2
  missing=1
}

# at_least FOUND WANTED: compares dotted versions.
at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

if ! command -v "$python" >/dev/null; then
  lack "Python 3.11 or later ('$python' not found): apt-get install python3 python3-venv, or make PYTHON=/path/to/python3"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  lack "Python 3.11 or later (found $("$python" -V 2>&1)): make PYTHON=/path/to/python3.11"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  lack "Python's venv and pip: apt-get install python3-venv"
fi

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if ! command -v "$java" >/dev/null; then
  lack "JDK 17 or later ('$java' not found): apt-get install openjdk-17-jdk-headless, or brew install openjdk@17"
else
  found=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
  command -v "${java}c" >/dev/null || lack "javac of that JDK ('${java}c' not found): apt-get install openjdk-17-jdk-headless"
  at_least "${found:-0}" 17 || lack "JDK 17 or later (found ${found:-an unknown version} at $java): set JAVA_HOME"
fi

if ! cargo --version >/dev/null 2>&1; then
  lack "Rust 1.88 or later (cargo not found or not working; with another HOME set RUSTUP_HOME and CARGO_HOME): see rustup.rs"
else
  found=$(cargo --version | sed 's/^cargo \([0-9.]*\).*/\1/')
  at_least "$found" 1.88 || lack "Rust 1.88 or later (found $found): rustup update stable"
  if [ "${2:-}" = lint ]; then
    cargo fmt --version >/dev/null 2>&1 || lack "rustfmt: rustup component add rustfmt"
    cargo clippy --version >/dev/null 2>&1 || lack "clippy: rustup component add clippy"
  fi
fi

command -v cc >/dev/null || lack "a C compiler and linker, which Rust calls as 'cc': apt-get install build-essential"
command -v mvn >/dev/null || lack "Maven (mvn not found), which downloads the Pulsar server: apt-get install maven, or brew install maven"

exit "$missing"
