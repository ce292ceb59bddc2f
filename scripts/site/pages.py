#!/usr/bin/env python3
"""Copies the pages of the repository to a directory from which mdBook builds the site.

usage: pages.py DIRECTORY    copy the pages, the files they show and link to, and write SUMMARY.md
       pages.py --check      only check that every page has a place in CONTENTS

Pages keep their paths, so that links between them stay as they are. Links to files that the site does not have go to the
repository.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = re.search(r'^repository = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]

# Chapters of the site by part. A page that does not exist is left out. The site's own build writes demo.md.
CONTENTS = {
    "": ["README.md", "docs/README.md", "docs/recipes.md", "demo.md"],
    "Measuring": ["method", "search", "check", "compare", "suites", "db", "hosts", "containers", "ci"],
    "Results": ["caveats", "settings", "report", "gallery", "history", "json"],
    "Tools beside a measurement": ["simulated", "profile", "trace"],
    "Reference": ["formats", "safety", "performance"],
    "Project": ["CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md"],
}
# Directories whose files are part of the site.
FILES = ["docs/gallery", "docs/schemas", "examples"]

LINK = re.compile(r"(\]\(|^\[[^\]]+\]: +)([^)\s#]+)", re.M)


def chapters():
    """Yields part and page of each chapter that exists or that the build of the site writes."""
    for part, names in CONTENTS.items():
        for name in names:
            page = name if name.endswith(".md") else f"docs/{name}.md"
            if page == "demo.md" or (ROOT / page).exists():
                yield part, page


def missing():
    """The pages without a place in the contents."""
    listed = {page for _, page in chapters()}
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    return sorted(str(page.relative_to(ROOT)) for page in pages if str(page.relative_to(ROOT)) not in listed)


def in_book(page):
    """The name of a page in the book. mdBook makes index.html of README.md, but does not change links to it."""
    return re.sub(r"README\.md$", "index.md", page)


def in_site(path):
    return path.suffix == ".md" or any(path.is_relative_to(directory) for directory in FILES)


def with_links(page):
    """The text of a page, with links to the repository for files that the site does not have."""

    def target(match):
        before, link = match.groups()
        path = (ROOT / page).parent / link
        if "://" in link or not path.exists():
            return match[0]
        path = path.resolve().relative_to(ROOT)
        if in_site(path) and (ROOT / path).is_file():
            return before + in_book(link)
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{before}{REPOSITORY}/{kind}/main/{path}"

    return LINK.sub(target, (ROOT / page).read_text())


def title(page):
    """The first heading of a page. The demonstration is not written yet."""
    return "Demonstration" if page == "demo.md" else re.search(r"^# (.+)$", (ROOT / page).read_text(), re.M)[1]


def copy(directory):
    summary, part_before = ["# Summary", ""], ""
    for part, page in chapters():
        if part != part_before:
            summary += ["", f"# {part}", ""]
            part_before = part
        # Chapters of the first part have no number in mdBook's form.
        summary.append(f"{'- ' if part else ''}[{title(page)}]({in_book(page)})")
        if page != "demo.md":
            copied = directory / in_book(page)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_text(with_links(page))
    (directory / "SUMMARY.md").write_text("\n".join(summary) + "\n")
    for files in FILES:
        shutil.copytree(ROOT / files, directory / files, dirs_exist_ok=True)


if len(sys.argv) != 2:
    sys.exit(__doc__)
if missing():
    sys.exit(f"error: no place in the contents of the site: {', '.join(missing())}\nhint: add it to CONTENTS in scripts/site/pages.py")
if sys.argv[1] == "--check":
    print(f"contents of the site: {len(list(chapters()))} pages, none missing")
else:
    copy(Path(sys.argv[1]))
