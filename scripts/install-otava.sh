#!/usr/bin/env bash
# Installs Apache Otava from PyPI into target/otava, for the test that has it read the CSV of iogauge history trend.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install-from-pypi.sh

install_from_pypi otava 'apache-otava==0.8.0'
