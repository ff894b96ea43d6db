#!/bin/sh
# Installs the system packages that tests marked `system` need and that are not there: a real Prometheus, a real
# Chromium, npm (for axe-core). Debian and Ubuntu; elsewhere it names what is missing, and those tests fail.
set -eu
missing=""
{ command -v prometheus && command -v promtool; } >/dev/null || missing="$missing prometheus"
{ command -v chromium || command -v chromium-browser; } >/dev/null || missing="$missing chromium"
command -v npm >/dev/null || missing="$missing npm"
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "Please install:$missing" >&2
  exit 0
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
$as_root apt-get update -qq
# shellcheck disable=SC2086  # a list of names
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
