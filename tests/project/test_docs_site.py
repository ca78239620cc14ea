"""The site: built by mkdocs without a warning, every link leads somewhere, and nothing is fetched from elsewhere."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from normlint.rules.registry import DOCS_URL, RULES
from tests.browser import CHROMIUM, Quiet

HOST = DOCS_URL.removesuffix("rules/")
LOOKED_AT = (
    "",
    "start/",
    "how-it-works/",
    "rules/",
    "rules/missing-eps/",
    "configuration/",
    "comparison/",
    "verification/",
    "verification-broken/",
    "is-this-finding-right/",
    "editors/",
    "ci/",
)
FRAMES = """<!doctype html><body><script>
const measured = {}, frames = PAGES.flatMap(page => [390, 1280].map(width => [page, width]))
for (const [page, width] of frames) {
  const frame = document.createElement("iframe")
  frame.style.width = width + "px"
  frame.onload = () => {
    const root = frame.contentDocument.documentElement
    const far = [...root.querySelectorAll("table")].map(table => table.getBoundingClientRect().right)
    const wide = Math.round(Math.max(root.scrollWidth, ...far))
    measured[page + "@" + width] = [wide, frame.contentDocument.querySelector("h1").offsetHeight]
    if (Object.keys(measured).length == frames.length) document.title = JSON.stringify(measured)
  }
  frame.src = "/" + page
  document.body.append(frame)
}
</script>"""
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


@pytest.fixture(scope="module")
def opened(site: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What Chromium makes of some pages in frames of a phone's and a desktop's width, and what it says of them."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    (site / "frames.html").write_text(FRAMES.replace("PAGES", json.dumps(LOOKED_AT)), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
        flags = (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=20000",
        )
        address = f"http://127.0.0.1:{server.server_address[1]}/frames.html"
        command = [CHROMIUM, *flags, profile, "--dump-dom", address]
        ran = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
        server.shutdown()
    (site / "frames.html").unlink()
    return ran.stdout, ran.stderr


def test_no_page_and_no_table_is_wider_than_a_phone_or_a_desktop(opened: tuple[str, str]) -> None:
    title = re.search(r"<title>(.*?)</title>", opened[0])
    assert title is not None, opened
    measured = json.loads(title[1])
    assert len(measured) == 2 * len(LOOKED_AT)
    assert {name: width for name, (width, _) in measured.items() if width > int(name.partition("@")[2])} == {}
    assert all(height > 0 for _, height in measured.values())


def test_the_browser_has_nothing_to_complain_of(opened: tuple[str, str]) -> None:
    assert [line for line in opened[1].splitlines() if "CONSOLE" in line] == []
