#!/usr/bin/env bash
# Checks the built site (scripts/check-site.py): its links, and its pages in Chromium. Without Chromium or Playwright, which
# it installs from PyPI, it checks the links alone.
#
# usage: scripts/check-site.sh DIRECTORY
set -euo pipefail
site=$(realpath "${1:?usage: check-site.sh DIRECTORY}")
cd "$(dirname "$0")/.."
source scripts/install-from-pypi.sh
python=${CARGO_TARGET_DIR:-target}/playwright/bin/python

install_from_pypi playwright 'playwright==1.65.2'
if [[ -x $python ]] && { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then
    "$python" scripts/check-site.py --self-test
    "$python" scripts/check-site.py "$site"
else
    python3 scripts/check-site.py "$site" --links
    echo 'SKIPPED: the pages of the site in Chromium: Chromium or Playwright is missing'
    [[ ${IOGAUGE_REQUIRE_ALL:-} != 1 ]]
fi
