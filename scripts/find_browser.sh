#!/usr/bin/env bash
# Prints the path of the Chromium that the tests of the site use. As root with apt-get, it installs Debian's Chromium.
# Otherwise, it prints a line about what to do, with exit code 1.
set -u

find_browser() {
  local name
  for name in "${PYSPARK_PULSAR_BROWSER:-}" chromium chromium-browser google-chrome google-chrome-stable \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" "/Applications/Chromium.app/Contents/MacOS/Chromium"; do
    [ -n "$name" ] && command -v "$name" && return 0
  done
  return 1
}

find_browser && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  {
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
  } >/dev/null 2>&1
  find_browser && exit 0
fi
echo "Missing: a Chromium browser, for the tests of the site: apt-get install chromium, or brew install --cask chromium," \
  "or set PYSPARK_PULSAR_BROWSER to the path of a browser" >&2
exit 1
