#!/usr/bin/env bash
# Installs InterSystems' grammar of ObjectScript from PyPI into target/tree-sitter, for the test that parses the routines
# of the backend iris.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install-from-pypi.sh

install_from_pypi tree-sitter 'tree-sitter-objectscript==1.11.0' 'tree-sitter==0.26.1'
