"""The pictures show what is so."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]

sys.path.insert(0, str(ROOT / "scripts"))
import docs_pictures  # noqa: E402

sys.path.remove(str(ROOT / "scripts"))


def test_the_session_shows_what_the_command_says_today() -> None:
    kept = docs_pictures.SESSION.read_text(encoding="utf-8")
    lines = docs_pictures.session()
    assert docs_pictures.text_of(kept) == [*map(docs_pictures.plain, lines)], "python scripts/docs_pictures.py draws it"
    assert kept == docs_pictures.drawn(lines)


def test_colours_and_brackets_of_a_line_survive() -> None:
    picture = docs_pictures.drawn(["$ a <b>", "  \x1b[1;31mx < y\x1b[0m & z", ""])
    ElementTree.fromstring(picture)
    assert docs_pictures.text_of(picture) == ["$ a <b>", "  x < y & z", ""]
    assert '  <tspan class="b r">x &lt; y</tspan> &amp; z' in picture


def test_pictures_are_small_and_shown() -> None:
    for picture in (docs_pictures.SESSION, docs_pictures.REPORT):
        assert picture.stat().st_size < 150_000
        for page in ("README.md", "README.zh-CN.md", "docs/index.md"):
            assert f"images/{picture.name}" in (ROOT / page).read_text(encoding="utf-8"), page
