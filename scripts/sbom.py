#!/usr/bin/env python3
"""Adds to cargo-cyclonedx's list on stdin what Cargo does not know, and takes out local paths; prints the result.

usage: scripts/sbom.py ROOT <iogauge-sbom.json >iogauge.cdx.json

ROOT is the path of the repository, as it stands in the list.
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent


def sqlite_version():
    """The version of SQLite whose sources libsqlite3-sys brings."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    data = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=HERE).stdout)
    manifest = next(p["manifest_path"] for p in data["packages"] if p["name"] == "libsqlite3-sys")
    header = (pathlib.Path(manifest).parent / "sqlite3/sqlite3.h").read_text()
    return re.search(r'#define SQLITE_VERSION +"([^"]+)"', header)[1]


def rust_version():
    return subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]


def component(name, version, licence, url, **more):
    """A library that is linked into the binary and is no crate."""
    return {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "scope": "required",
        "licenses": [licence],
        "externalReferences": [{"type": "website", "url": url}],
        **more,
    }


def main():
    text = sys.stdin.read().replace(sys.argv[1], "/iogauge")
    # A path in the repository is no place from which the crate can be downloaded.
    data = json.loads(re.sub(r"\?download_url=file://[^\"#]*", "", text))
    sqlite, rust = sqlite_version(), rust_version()
    data["components"] += [
        component("sqlite", sqlite, {"expression": "blessing"}, "https://sqlite.org",
                  purl=f"pkg:generic/sqlite@{sqlite}", cpe=f"cpe:2.3:a:sqlite:sqlite:{sqlite}:*:*:*:*:*:*:*"),
        component("rust-std", rust, {"expression": "Apache-2.0 OR MIT"}, "https://www.rust-lang.org",
                  purl=f"pkg:generic/rust-std@{rust}"),
        component("musl", f"of Rust {rust}", {"expression": "MIT"}, "https://musl.libc.org"),
        component("dejavu-fonts", "2.37", {"expression": "Bitstream-Vera"}, "https://dejavu-fonts.github.io"),
    ]
    json.dump(data, sys.stdout, indent=2)
    print()


main()
