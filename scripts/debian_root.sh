#!/usr/bin/env bash
# Unpacks Debian packages and their dependencies into a folder, on any release and processor.
# The script installs nothing, and does not need root. apt checks the signatures.
# Usage: debian_root.sh FOLDER [--alone PACKAGE]... PACKAGE...    PACKAGE may name a processor, as in libc6:arm64;
#        a package after --alone is unpacked without its dependencies.
set -euo pipefail
release=trixie
folder=$1
shift
alone=() wanted=()
while [ $# -gt 0 ]; do
  if [ "$1" = --alone ]; then alone+=("$2"); shift 2; else wanted+=("$1"); shift; fi
done

if [ -e "$folder/.unpacked" ] && [ "$(cat "$folder/.unpacked")" = "${alone[*]} ${wanted[*]}" ]; then exit 0; fi
command -v apt-get >/dev/null || { echo "Missing: apt-get; run this on Debian or Ubuntu" >&2; exit 1; }
archive=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' | sed -n '/ Debian$/{s/ .*//;/security/d;p}' | head -n 1)
[ -n "$archive" ] || { echo "Missing: Debian's archive in apt's sources; run apt-get update on Debian" >&2; exit 1; }

mkdir -p "$folder"
for name in bin lib lib64; do ln -sfn "usr/$name" "$folder/$name"; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
: >"$work/status" # apt must see no installed package
for suite in "$release" "$release-backports"; do
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main"
done >"$work/sources.list"
cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$work";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Architectures {"amd64"; "arm64";};
APT::Default-Release "$release-backports";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Debug::NoLocking "true";
END
export APT_CONFIG=$work/apt.conf
apt-get --quiet=2 update
apt-get --quiet=2 --yes --download-only install "${wanted[@]}" >/dev/null
cd "$work/cache/archives"
[ ${#alone[@]} = 0 ] || apt-get --quiet=2 download "${alone[@]}" >/dev/null
for package in *.deb; do dpkg-deb --extract "$package" "$folder"; done
echo "${alone[*]} ${wanted[*]}" >"$folder/.unpacked"
