"""The pages of the site that nobody writes by hand; mkdocs calls the `on_…` functions (`hooks:` in mkdocs.yml)."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docs_playground
import docs_reference
import docs_rules

from normlint.engine.selection import known_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parent.parent
BLOB = "https://github.com/normlint/normlint/blob/main/"
TAKEN = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md", "speed.md": "benchmarks/README.md"}
LINK = re.compile(r"(!?\[[^\]\n]*\]\()(?!\w+:|#)([^)\s]+)(\))")
PIECE = re.compile(r"^\{\{ ([\w.-]+) \}\}$", re.MULTILINE)
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
NARROW = 2  # columns that fit a phone side by side
OUTPUT = re.compile(r'<span class="go">(.*?)</span>')
LOOKS = (  # what a terminal would show in colour, in the output of the command
    ("alarm", re.compile(r"^\s*\|\s+\^+ ")),
    ("gone", re.compile(r"^(\d+ +- |-(?!--))")),
    ("new", re.compile(r"^( +\+ |\+(?!\+\+))")),
    ("place", re.compile(r"^\S+:\d+:\d+: ")),
)


def generated() -> dict[str, str]:
    """Each generated page's text by its path in the site's sources."""
    rules = [rule for _, rule in sorted(known_rules().items())]
    pages = {f"rules/{rule.name}.md": docs_rules.page(rule) for rule in rules}
    pages["rules/index.md"] = docs_rules.overview(rules)
    taken = {page: ROOT / file for page, file in TAKEN.items()}
    return pages | {page: rehomed(file) for page, file in taken.items() if file.exists()}


def rehomed(file: Path) -> str:
    """A file of the repository as a page: its links lead into the site, or else to the repository."""

    def target(match: re.Match[str]) -> str:
        path, mark, anchor = match[2].partition("#")
        place = (file.parent / path).resolve().relative_to(ROOT).as_posix()
        inside = {kept: page for page, kept in TAKEN.items()}.get(place, place.removeprefix("docs/"))
        known = inside != place or (ROOT / "docs" / inside).exists()
        return f"{match[1]}{inside if known else BLOB + place}{mark}{anchor}{match[3]}"

    return LINK.sub(target, file.read_text(encoding="utf-8"))


def pieces() -> dict[str, Callable[[], str]]:
    """What a page may ask for with `{{ name }}` on a line of its own."""
    drawings = {file.name: file.read_text for file in (ROOT / "docs" / "assets").glob("*.svg")}
    return {
        "settings": docs_reference.settings,
        "options": docs_reference.options,
        **drawings,
    }


def _nav(entries: list[Any], there: Callable[[str], bool]) -> Iterator[Any]:
    """The navigation without pages that aren't there, and with one for each rule."""
    for entry in entries:
        path = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if entry == {"Rules": ["rules/index.md"]}:
            yield {"Rules": ["rules/index.md", *docs_rules.nav()]}
        elif isinstance(path, list):
            inner = list(_nav(path, there))
            yield from [{next(iter(entry)): inner}] if inner else []
        elif there(path):
            yield entry


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name each rule's page in the navigation, and tell the playground what it needs."""
    made = generated()
    config.extra["playground"] = docs_playground.data()
    config.nav = list(_nav(config.nav or [], lambda path: path in made or (ROOT / "docs" / path).exists()))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is generated to what is written."""
    from mkdocs.structure.files import File

    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    for path, content in docs_playground.files().items():
        files.append(File.generated(config, path, content=content))
    speed = ROOT / "benchmarks" / "speed.svg"
    if speed.exists():
        files.append(File.generated(config, "speed.svg", abs_src_path=str(speed)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put the generated pieces where a page asks for them."""
    known = pieces()
    return PIECE.sub(lambda match: known[match[1]](), markdown)


def _coloured(match: re.Match[str]) -> str:
    look = next((name for name, pattern in LOOKS if pattern.search(match[1])), "")
    return f'<span class="go {look}">{match[1]}</span>' if look else match[0]


def _labelled(match: re.Match[str]) -> str:
    """A wide table with its heads in each cell, for a phone, where each row becomes a block."""
    heads = [re.sub(r"<.*?>", "", head) for head in re.findall(r"<th.*?>(.*?)</th>", match[0])]
    if len(heads) <= NARROW:
        return match[0]
    labels = cycle(heads)
    table = re.sub(r"<td", lambda _: f'<td data-label="{next(labels)}"', match[0])
    return table.replace("<table>", "<table data-wide>", 1)


def on_page_content(html: str, **_: object) -> str:
    """Colour what the command shows, as a terminal does; make tables ready for a phone."""
    return OUTPUT.sub(_coloured, TABLE.sub(_labelled, html))
