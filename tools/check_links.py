"""Check every link within a built site: `python tools/check_links.py docs/_build/html`.

A link must lead to a file of the site, and its fragment to an anchor of that page.
Addresses outside are counted and left alone: `make linkcheck-external` asks for those.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page and what it refers to."""

    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        """Collect anchors and references of a tag."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_links(root: Path) -> tuple[list[str], int, int]:
    """Descriptions of broken links, and the numbers of links within and outside."""
    static = root / "_static"  # of the theme: templates, no pages
    paths = [path for path in root.rglob("*.html") if static not in path.parents]
    pages = {path: Page(path) for path in paths}
    broken, inside, outside = [], 0, 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                outside += parts.scheme in ("http", "https") or bool(parts.netloc)
                continue
            inside += 1
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target = target / "index.html"
            fragment = unquote(parts.fragment)
            if not target.is_file() or not target.is_relative_to(root):
                broken.append(f"{path.relative_to(root)}: no file for {link}")
            elif fragment and fragment not in pages[target].anchors:
                broken.append(f"{path.relative_to(root)}: no anchor for {link}")
    return broken, inside, outside


def main() -> int:
    """Report, and fail if a link within the site is broken."""
    root = Path(sys.argv[1]).resolve()
    broken, inside, outside = broken_links(root)
    for line in sorted(set(broken)):
        print(line)
    print(
        f"{inside} links within the site, {len(broken)} broken; "
        f"{outside} links to addresses outside, not checked"
    )
    return 1 if broken or not inside else 0


if __name__ == "__main__":
    sys.exit(main())
