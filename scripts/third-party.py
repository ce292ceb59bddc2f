#!/usr/bin/env python3
"""Prints the licences of all libraries in the binary: a section for each text, with the crates that have it.

usage: scripts/third-party.py

Each crate must bring the text of a licence or be under one whose text is in this repository.
"""

import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
TARGET = "x86_64-unknown-linux-musl"

# Not in Cargo's list, but in the binary.
BESIDES = """\
The binary also contains the standard library of Rust (Apache-2.0 or MIT), musl (MIT, https://musl.libc.org) and SQLite
(public domain, https://sqlite.org/copyright.html), each used unchanged, and the fonts DejaVu Sans and DejaVu Sans Bold,
reduced to the letters that pictures need.
"""
FONTS = ROOT / "crates/report/src/chart/font/LICENSE-DejaVu"


def packages():
    """The packages that the binary is linked with, by name and version."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]
    data = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)
    found = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    waiting = [package["id"] for package in data["packages"] if package["name"] == "iogauge"]
    linked = set()
    while waiting:
        name = waiting.pop()
        if name in linked:
            continue
        linked.add(name)
        for dependency in nodes[name]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    foreign = [found[name] for name in linked if found[name]["source"]]
    return sorted(foreign, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The texts of licences and notices that a package brings."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(NAMES))
    # Under "MIT OR Apache-2.0", one of the two is enough, and MIT is the shorter.
    if any("MIT" in path.name.upper() for path in files) and " OR " in package["license"]:
        files = [path for path in files if "APACHE" not in path.name.upper()]
    return [path.read_text(errors="replace").strip() for path in files]


def mit(holder):
    """The MIT license for another holder."""
    lines = (ROOT / "LICENSE-MIT").read_text().strip().splitlines()
    return "\n".join(f"Copyright (c) {holder}" if line.startswith("Copyright") else line for line in lines)


def main():
    holders, without = collections.defaultdict(list), []
    holders[mit("The Rust Project contributors")].append("standard library of Rust (Apache-2.0 OR MIT)")
    holders[mit("2005-2020 Rich Felker, et al.")].append("musl (MIT)")
    holders[FONTS.read_text().strip()].append("DejaVu Sans, DejaVu Sans Bold (Bitstream-Vera)")
    for package in packages():
        name = f"{package['name']} {package['version']} ({package['license']})"
        own = texts(package)
        for text in own:
            holders[text].append(name)
        if not own:
            without.append(f"{name}, {', '.join(package['authors']) or 'its contributors'}, {package['repository']}")
    print("Licences of the libraries in the binary iogauge\n")
    print(BESIDES)
    for text, names in sorted(holders.items(), key=lambda item: item[1]):
        print("=" * 100, *names, "-" * 100, text, "", sep="\n")
    print("=" * 100, "These bring no text. LICENSE-APACHE and LICENSE-MIT have those of the licences named.", "", sep="\n")
    print(*without, sep="\n")
    unknown = [name for name in without if "MIT" not in name and "Apache-2.0" not in name]
    if unknown:
        sys.exit(f"third-party: no text of a licence for: {'; '.join(unknown)}")


main()
