#!/usr/bin/env python3
"""Checks the built site. Prints each fault, and ends with exit code 1 if there is one.

usage: check-site.py DIRECTORY            links, and each page in Chromium
       check-site.py DIRECTORY --links    links only
       check-site.py --self-test          that a site with each kind of fault fails

Links: each file and anchor that a page links to exists, and pages load nothing from elsewhere. Links to other sites are
listed and not followed. Chromium: at 360 and 1600 pixels, no page is wider than its window, logs an error or asks another
host. Needs the Python package playwright and chromium.
"""

import functools
import http.server
import shutil
import sys
import tempfile
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# The path of the site on its host, as in site/book.toml: the page 404.html needs it.
PREFIX = "/iogauge/"
WIDTHS = (360, 1600)
# mdBook's contents for browsers without scripts: a frame in the other pages.
FRAMES = {"toc.html"}


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        self.anchors |= {attrs[name] for name in ("id", "name") if name in attrs}
        if tag in ("a", "area") and "href" in attrs:
            self.links.append(attrs["href"])
        elif tag == "link" and "href" in attrs:
            self.loads.append(attrs["href"])
        elif "src" in attrs or (tag == "object" and "data" in attrs):
            self.loads.append(attrs.get("src") or attrs["data"])


def links(site):
    """The faults of links, the number of links within the site, and the links to other sites."""
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    faults, inside, outside = [], 0, set()
    for path, page in sorted(pages.items()):
        name = path.relative_to(site)
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("data", "javascript"):
                continue
            if parts.scheme or parts.netloc:
                outside.add(link)
                if link in page.loads:
                    faults.append(f"{name}: loads {link}")
                continue
            inside += 1
            target = path
            if parts.path.startswith("/"):
                target = site / unquote(parts.path).removeprefix(PREFIX)
            elif parts.path:
                # The page for what is not found may be shown at any path.
                target = (site if name.name == "404.html" else path.parent) / unquote(parts.path)
            target = target.resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(site) or not target.is_file():
                faults.append(f"{name}: {link}: no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{name}: {link}: no such anchor")
    return faults, inside, sorted(outside)


class Handler(http.server.SimpleHTTPRequestHandler):
    def translate_path(self, path):
        return super().translate_path("/" + path.removeprefix(PREFIX))

    def log_message(self, *_):
        pass


def in_browser(site):
    """The faults that pages show in Chromium, and the number of pages."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    pages = sorted(path for path in site.rglob("*.html") if path.name not in FRAMES)
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for width in WIDTHS:
            view = browser.new_page(viewport={"width": width, "height": 800})
            found = []
            view.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
            view.on("pageerror", lambda error: found.append(str(error)))
            view.route(
                lambda url: not url.startswith((origin, "data:", "blob:")),
                lambda route: (found.append(f"asks for {route.request.url}"), route.abort()),
            )
            for path in pages:
                name = path.relative_to(site)
                view.goto(f"{origin}{PREFIX}{name}", wait_until="networkidle")
                needed = view.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
                if needed > width:
                    found.append(f"is {needed} pixels wide")
                faults += [f"{name} at {width} pixels: {fault}" for fault in found]
                found.clear()
            view.close()
        browser.close()
    server.shutdown()
    return faults, len(pages)


def self_test():
    """Ends with an error if a fault is not found, or if one is found in a correct page."""
    faults = {
        '<a href="missing.html">': "no such file",
        '<a href="/iogauge/missing.html">': "no such file",
        '<a href="../outside.html">': "no such file",
        '<a href="#missing">': "no such anchor",
        '<a href="0.html#missing">': "no such anchor",
        '<img src="https://example.com/picture.png">': "loads https://",
        '<div style="width: 1700px">wide</div>': "at 1600 pixels: is 1700 pixels wide",
        '<div style="width: 400px">wide</div>': "at 360 pixels: is 400 pixels wide",
        "<script>missing()</script>": "missing is not defined",
        "<script>console.error('bad')</script>": "at 360 pixels: bad",
        "<script>fetch('https://example.com/')</script>": "asks for https://",
        '<a id="a" href="#a">correct</a><a href="https://example.com/">': None,
    }
    with tempfile.TemporaryDirectory() as directory:
        site = Path(directory).resolve() / "site"
        site.mkdir()
        (site.parent / "outside.html").touch()
        for name, content in enumerate(faults):
            head = '<!doctype html><link rel="icon" href="data:,"><body style="margin: 0">'
            (site / f"{name}.html").write_text(head + content)
        found = links(site)[0] + in_browser(site)[0]
    for name, (content, expected) in enumerate(faults.items()):
        of_page = [fault for fault in found if fault.startswith(f"{name}.html")]
        if not any(expected in fault for fault in of_page) if expected else of_page:
            sys.exit(f"check-site.py: {content}: expected {expected}, found {of_page}")
    print(f"check of the site: {len(faults)} pages judged correctly")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if not 2 <= len(sys.argv) <= 3 or sys.argv[2:] not in ([], ["--links"]):
        sys.exit(__doc__)
    site = Path(sys.argv[1]).resolve()
    faults, inside, outside = links(site)
    if not inside:
        faults.append(f"{site}: no page with links")
    print("links to other sites, not followed:", *outside, sep="\n  ")
    print(f"links in the site: {inside} checked, {len(faults)} broken")
    if len(sys.argv) == 2:
        shown, pages = in_browser(site)
        print(f"pages in Chromium: {pages} checked at {' and '.join(map(str, WIDTHS))} pixels, {len(shown)} faults")
        faults += shown
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
