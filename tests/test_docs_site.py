"""The site: built by mkdocs without a warning, every link leads somewhere, and nothing is fetched from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from normlint.rules.registry import DOCS_URL, RULES

ROOT = Path(__file__).parent.parent
HOST = DOCS_URL.removesuffix("rules/")
pytestmark = pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="mkdocs-material is not installed")


class Page(HTMLParser):
    """The anchors of a page, its links, and what a browser fetches for it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if given.get("href"):
            (self.links if tag == "a" or given.get("rel") in ("canonical", "next", "prev") else self.fetched).append(
                given["href"]
            )
        if given.get("src"):
            self.fetched.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    built = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return place


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """Each page by its address."""
    files = (path for path in site.rglob("*.html") if path.name != "404.html")
    return {HOST + path.relative_to(site).as_posix().removesuffix("index.html"): Page(path) for path in files}


def test_each_rule_has_its_page_where_the_command_says(pages: dict[str, Page]) -> None:
    assert {f"{rule.url}/" for rule in RULES.values()} <= pages.keys()


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[str, Page]) -> None:
    lost = []
    for address, page in pages.items():
        for link in (*page.links, *page.fetched):
            target = urlsplit(urljoin(address, link))
            place = f"{target.scheme}://{target.netloc}{target.path}"
            if not place.startswith(HOST):
                continue
            if place in pages:
                there = not target.fragment or unquote(target.fragment) in pages[place].ids
            else:
                there = (site / unquote(place.removeprefix(HOST))).is_file()
            lost += [] if there else [f"{address} → {link}"]
    assert lost == []


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[str, Page]) -> None:
    assert len(pages) > len(RULES)
    fetched = {urljoin(address, one) for address, page in pages.items() for one in page.fetched}
    assert {one for one in fetched if not one.startswith((HOST, "data:"))} == set()
    ours = (site / "assets" / "extra.css").read_text(encoding="utf-8")
    assert "http" not in ours
    assert "@import" not in ours
    sources = [
        path for path in site.rglob("*.html") if 'data-md-component="source"' in path.read_text(encoding="utf-8")
    ]
    assert sources == []
