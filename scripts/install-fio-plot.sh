#!/usr/bin/env bash
# Installs fio-plot from PyPI into target/fio-plot, for the test that has it draw iogauge's JSON in fio's form.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install-from-pypi.sh

# fio-plot needs pkg_resources, which setuptools lacks from version 81 on.
install_from_pypi fio-plot 'fio-plot==1.1.21' 'setuptools<81'
