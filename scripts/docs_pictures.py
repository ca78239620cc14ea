"""The pictures of README and documentation: a session in a terminal, and the report. Run it to draw them anew."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from html import escape, unescape
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "fixtures" / "demo" / "rmsnorm.py"
SESSION = ROOT / "docs" / "images" / "session.svg"
REPORT = ROOT / "docs" / "images" / "report.png"
COMMANDS = ("normlint rmsnorm.py", "normlint --fix rmsnorm.py", "normlint rmsnorm.py")
CODE = re.compile(r"\x1b\[([\d;]*)m")
LOOKS = {"1": "b", "31": "r", "32": "g", "33": "y", "36": "c"}  # classes of the codes that the command uses
ADVANCE, HEIGHT, EDGE = 8.43, 20, 20  # of a character of 14 px, of a line, and around all
STYLE = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d5dbe3}"
    ".b{font-weight:700}.r{fill:#ff7a70}.g{fill:#6fce9a}.y{fill:#e8bf6a}.c{fill:#6cb8c9}.p{fill:#8b98a9}"
)


def session() -> list[str]:
    """The lines that a terminal shows: each command, and what it says today, with its codes of colour."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(DEMO, place)
        for command in COMMANDS:
            lines += ["", f"$ {command}", *_output(command, place).splitlines()]
    return lines[1:]


def _output(command: str, place: str) -> str:
    words = [sys.executable, "-m", "normlint", *shlex.split(command)[1:]]
    env = {**os.environ, "FORCE_COLOR": "1", "NORMLINT_CACHE_DIR": f"{place}/cache", "PYTHONPATH": str(ROOT)}
    env.pop("NO_COLOR", None)
    ran = subprocess.run(words, cwd=place, env=env, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    return ran.stdout


def drawn(lines: list[str]) -> str:
    """The lines as a picture."""
    width = round(max(len(plain(line)) for line in lines) * ADVANCE) + 2 * EDGE
    height = len(lines) * HEIGHT + 2 * EDGE
    texts = (
        f'<text x="{EDGE}" y="{EDGE + HEIGHT * at + 14}" xml:space="preserve">{_coloured(line)}</text>'
        for at, line in enumerate(lines)
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    ground = f'<rect width="{width}" height="{height}" rx="8" fill="#141b25"/>'
    return "\n".join((head, f"<style>{STYLE}</style>{ground}", *texts, "</svg>")) + "\n"


def _coloured(line: str) -> str:
    if line.startswith("$ "):
        return f'<tspan class="p">$</tspan><tspan class="b">{escape(line[1:], quote=False)}</tspan>'
    texts, codes = CODE.split(line)[::2], CODE.findall(line)
    return "".join(_span(text, code) for text, code in zip(texts, ("", *codes), strict=True) if text)


def _span(text: str, code: str) -> str:
    looks = " ".join(LOOKS[one] for one in code.split(";") if one in LOOKS)
    return f'<tspan class="{looks}">{escape(text, quote=False)}</tspan>' if looks else escape(text, quote=False)


def text_of(picture: str) -> list[str]:
    """The lines that a picture of a session shows, without their colours."""
    return [unescape(re.sub(r"<.*?>", "", text)) for text in re.findall(r"<text .*?>(.*)</text>", picture)]


def plain(line: str) -> str:
    """The line without colours."""
    return CODE.sub("", line)


def photographed(path: Path) -> None:
    """Take a picture of the report on the demo, down to where it ends."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(DEMO, place)
        _output("normlint --verify --device cpu --report report.html rmsnorm.py", place)
        flags = "--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,4000".split()
        given = (f"--user-data-dir={place}/profile", f"--screenshot={path}", Path(place, "report.html").as_uri())
        subprocess.run(
            [browser or sys.exit("there is no chromium"), *flags, *given], stderr=subprocess.DEVNULL, check=True
        )
    _cut(path)


def _cut(path: Path) -> None:
    from PIL import Image, ImageChops

    page = Image.open(path).convert("RGB")
    ground = Image.new("RGB", page.size, page.getpixel((0, page.height - 1)))
    end = ImageChops.difference(page, ground).getbbox()[3] + 24
    page.crop((0, 0, page.width, end)).quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    SESSION.write_text(drawn(session()), encoding="utf-8")
    photographed(REPORT)
