"""Check the links of the built site: every page, picture and anchor that it names must be there.

    python docs/check_links.py build/docs

Links to other sites are not followed, so this needs no network; they must be https and complete.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag names and links to."""
        named = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := named.get(key)))
        self.links.update(value for key in ("href", "src") if (value := named.get(key)))


def find_broken(site: Path) -> list[str]:
    """List the links that lead nowhere.

    Parameters
    ----------
    site : Path
        The folder of the built site.

    Returns
    -------
    list of str
        A line each: the page, the link and what is wrong.
    """
    # What lies in _static are parts of the theme, not pages.
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in paths}
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links):
            wrong = _what_is_wrong(link, path, pages)
            if wrong:
                broken.append(f"{path.relative_to(site.resolve())}: {link}: {wrong}")
    return broken


def _what_is_wrong(link: str, path: Path, pages: dict[Path, Page]) -> str:
    parts = urlsplit(link)
    if parts.scheme in ("data", "mailto", "javascript"):
        return ""
    if parts.scheme or parts.netloc:
        return "" if parts.scheme == "https" and "." in parts.netloc else "not an https address"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "no such anchor"
    return ""


if __name__ == "__main__":
    lines = find_broken(Path(sys.argv[1]))
    print("\n".join(lines) or "All links lead somewhere.")
    sys.exit(bool(lines))
