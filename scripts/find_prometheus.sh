#!/usr/bin/env bash
# Prints the folder with prometheus, promtool and prometheus-pushgateway, which tests of metrics start. If they are not on
# the PATH, it unpacks Debian's or Ubuntu's packages into FOLDER. It installs nothing, and starts no service.
# Otherwise, it prints a line about what to do, with exit code 1.
# Usage: find_prometheus.sh FOLDER
set -u
folder=$1
programs=(prometheus promtool prometheus-pushgateway)
packages=(prometheus prometheus-pushgateway)

if command -v "${programs[@]}" >/dev/null && [ "$(command -v "${programs[@]}" | wc -l)" = 3 ]; then
  dirname "$(command -v prometheus)"
  exit 0
fi
unpack() {
  local work
  work=$(mktemp -d) || return 1
  trap 'rm -rf "$work"' RETURN
  # apt-get needs its lists of packages, which a new machine lacks.
  if ! apt-cache show "${packages[@]}" >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] && apt-get update -qq >/dev/null 2>&1
  fi
  # As root, apt downloads as another user, who may not write into this folder.
  (cd "$work" && apt-get download -qq -o APT::Sandbox::User=root "${packages[@]}" >/dev/null 2>&1) || return 1
  rm -rf "$folder" "$folder.new"
  for package in "$work"/*.deb; do dpkg-deb --extract "$package" "$folder.new" || return 1; done
  mv "$folder.new" "$folder"
}
if [ -x "$folder/usr/bin/prometheus-pushgateway" ] || { command -v apt-get dpkg-deb >/dev/null && unpack; }; then
  echo "$folder/usr/bin"
  exit 0
fi
echo "Missing: prometheus, promtool and prometheus-pushgateway, for the tests of metrics: put them on the PATH (Debian and" \
  "Ubuntu have them in the packages prometheus and prometheus-pushgateway)" >&2
exit 1
