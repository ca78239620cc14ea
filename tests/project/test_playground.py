"""The playground: normlint in the browser, without torch and without a request that leaves the machine."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

import normlint
from normlint.engine.selection import known_rules
from tests.browser import CHROMIUM, Quiet

ROOT = Path(__file__).parents[2]
DRIVER = (Path(__file__).parent / "playground.js").read_text(encoding="utf-8")

sys.path.insert(0, str(ROOT / "scripts"))
import docs_playground  # noqa: E402
import docs_rules  # noqa: E402

sys.path.remove(str(ROOT / "scripts"))

BROKEN = """\
import torch

def rms_norm(x, weight, eps=1e-6):
    note = "𝛾"; ms = x.float().pow(2).mean()
    return (x * torch.rsqrt(ms + eps)).type_as(x) * weight
"""
LONG = BROKEN + "".join(f"\n# {'long ' * 40}{number}" for number in range(60))
CANNED = """
const ANSWERS = %s
self.onmessage = async ({ data }) => {
  if (data.wheel) return self.postMessage({ ready: true })
  if (data.startsWith("send")) await fetch("https://worker.example/").catch(() => {})
  if (data.startsWith("fail")) self.postMessage({ failed: "a reason" })
  else if (!data.startsWith("slow")) self.postMessage({ said: ANSWERS[data] ?? { error: "unknown" } })
}
"""


@pytest.fixture(scope="module")
def looking() -> ModuleType:
    """What the page runs."""
    path = ROOT / "docs" / "assets" / "playground" / "look.py"
    spec = importlib.util.spec_from_file_location("look", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_in_the_navigation() -> None:
    assert ": playground.md\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_the_version_of_pyodide_stands_in_one_place() -> None:
    kept = [path for part in ("docs", "scripts", "tests", ".github") for path in (ROOT / part).rglob("*.*")]
    texts = [*kept, *ROOT.glob("*.*"), ROOT / ".readthedocs.yaml"]
    suffixes = {".py", ".js", ".html", ".md", ".yml", ".yaml", ".toml", ".css"}
    naming = {
        path.name
        for path in texts
        if path.suffix in suffixes and docs_playground.VERSION in path.read_text(encoding="utf-8")
    }
    assert naming == {"docs_playground.py"}


def test_the_examples_are_those_of_the_rules_pages_and_one_is_right() -> None:
    examples = docs_playground.examples()
    pages = [docs_rules.page(known_rules()[code]) for code in (*docs_playground.BROKEN, docs_playground.SOUND)]
    assert [one["text"] in page for one, page in zip(examples, pages, strict=True)] == [True] * 4
    found = [[one.code for one in normlint.check_source(example["text"])] for example in examples]
    assert found == [*([code] for code in docs_playground.BROKEN), []]


def test_without_fetched_files_the_cdn_has_the_same_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(docs_playground, "HOME", tmp_path / "none")
    data = docs_playground.data()
    assert data["pyodide"] == f"https://cdn.jsdelivr.net/pyodide/v{docs_playground.VERSION}/full/"
    assert data["libcst"]


def test_what_is_fetched_is_what_was_pinned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"a")
    monkeypatch.setattr(docs_playground, "CDN", f"{tmp_path.as_uri()}/")
    monkeypatch.setattr(docs_playground, "HOME", docs_playground._made(tmp_path / "home"))
    docs_playground._download("a.whl", hashlib.sha256(b"a").hexdigest())
    assert (tmp_path / "home" / "a.whl").read_bytes() == b"a"
    docs_playground._download("none.whl", "")  # only said
    with pytest.raises(SystemExit, match=re.escape("a.whl is not what")):
        docs_playground._download("a.whl", hashlib.sha256(b"b").hexdigest())


LOOKS = {
    "nothing where there is no norm": ("x = 1\n", [], 0, None),
    "nothing of a right norm but what it is": (docs_playground.examples()[-1]["text"], [], 1, None),
    "a finding with its place and fix": (BROKEN, [("NRM101", 4, 22)], 1, ["NRM101 (safe): "]),
}


@pytest.mark.parametrize(("source", "findings", "norms", "made"), LOOKS.values(), ids=LOOKS)
def test_it_says(source: str, findings: list[object], norms: int, made: list[str] | None, looking: ModuleType) -> None:
    said = json.loads(looking.look(source))
    assert [(one["code"], one["line"], one["column"]) for one in said["findings"]] == findings
    assert len(said["norms"]) == norms
    assert [one[:15] for one in said["fix"]["made"]] == made if made else said["fix"] is None


def test_a_text_that_is_no_python_is_an_error(looking: ModuleType) -> None:
    assert json.loads(looking.look(f"{BROKEN}def f(:\n")) == {"error": "norm.py:6: syntax error: invalid syntax"}


def test_without_libcst_it_finds_and_says_that_it_can_not_fix(
    looking: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "libcst", None)
    monkeypatch.setattr(looking, "CAN_FIX", False)
    said = json.loads(looking.look(BROKEN))
    assert ([one["code"] for one in said["findings"]], said["canFix"], said["fix"]) == (["NRM101"], False, None)


THE_BROWSER_S_OWN = (".google.com", ".googleapis.com")  # it asks them about itself, whatever the page


class Stage(Quiet):
    """The site and a few texts beside it. As the browser's proxy it hears of each request that would leave."""

    def __init__(self, *args: Any, play: Play, **more: Any) -> None:
        self.play = play
        super().__init__(*args, **more)

    def do_GET(self) -> None:  # noqa: N802
        if "://" in self.path:
            return self.refuse()
        self.play.asked.append(self.path)
        text = self.play.texts.get(self.path)
        return super().do_GET() if text is None else self.answer(text)

    def do_POST(self) -> None:  # noqa: N802
        if "://" in self.path:
            return self.refuse()
        said = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/mark":
            self.play.asked.clear()
        else:
            self.play.told = json.loads(said)
            self.play.over.set()
        return self.answer("")

    def refuse(self) -> None:
        host = urlsplit(self.path).hostname if self.command != "CONNECT" else self.path.partition(":")[0]
        if not host.endswith(THE_BROWSER_S_OWN):
            self.play.left.add(host)
        self.send_error(502)

    do_CONNECT = do_HEAD = do_OPTIONS = refuse  # noqa: N815

    def answer(self, text: str) -> None:
        kind = "text/javascript" if self.path.endswith(".js") else "text/html; charset=utf-8"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())


class Play:
    """What is served, what is asked for since the mark, what would have left, and what the driver saw."""

    def __init__(self, steps: list[list[object]], texts: dict[str, str]) -> None:
        driver = DRIVER.replace("STEPS", json.dumps(steps)).replace(
            "TEXTS", json.dumps({"BROKEN": BROKEN, "LONG": LONG})
        )
        page = f'<!doctype html><meta charset="utf-8"><body><script type="module">{driver}</script>'
        self.texts = {"/drive.html": page, **texts}
        self.asked: list[str] = []
        self.left: set[str] = set()
        self.told: list[dict[str, Any]] = []
        self.over = threading.Event()


FLAGS = """
--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-default-apps --window-size=1400,1000
""".split()


def played(site: Path, profile: Path, play: Play) -> Play:
    """The play, after the browser has gone through it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Stage, play=play, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", f"--proxy-server={address}", f"{address}/drive.html"]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        over = play.over.wait(timeout=240)
        browser.terminate()
        browser.wait(timeout=30)
        server.shutdown()
    assert over, f"the page did not get through: {play.asked}"
    return play


needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("material") is None, reason="there is no chromium or mkdocs-material"
)
needs_pyodide = pytest.mark.skipif(
    not docs_playground.HOME.exists(), reason="Pyodide is not there: python scripts/docs_playground.py fetches it"
)


@pytest.fixture(scope="module")
def real(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Pyodide and normlint as they are: the first example, a pasted norm, the right example, and no Python."""
    steps = [
        ["open", "/playground/", 390], ["until", "1 finding "], ["mark"],
        ["write", "BROKEN"], ["until", "1 finding "], ["click", ".place"], ["see"],
        ["choose", 3, "No findings"], ["see"],
        ["write", "import torch\nx.pow(2).mean(-1\n"], ["until", "error"], ["see"],
    ]  # fmt: skip
    return played(site, tmp_path_factory.mktemp("profile"), Play(steps, {}))


@needs_chromium
@needs_pyodide
class TestInPyodide:
    def test_a_broken_norm_is_found_and_its_place_is_selected(self, real: Play) -> None:
        broken = real.told[0]
        assert "NRM101" in broken["findings"]
        assert "line 4, column 22" in broken["findings"]
        assert "RMSNorm over ALL axes" in broken["norms"]
        assert broken["selected"] == "x.float().pow(2).mean()"

    def test_a_right_norm_has_no_finding(self, real: Play) -> None:
        assert (real.told[1]["findings"], real.told[1]["fix"]) == ("", "")
        assert "RMSNorm over the last axis" in real.told[1]["norms"]

    def test_what_is_no_python_is_said(self, real: Play) -> None:
        assert "syntax error" in real.told[2]["status"]

    def test_fixes_are_there_or_said_to_be_missing(self, real: Play) -> None:
        has_libcst = docs_playground.data()["libcst"]
        said = "+" if has_libcst else "Fixes need libcst, which could not be loaded."
        assert said in real.told[0]["fix"]

    def test_nothing_is_asked_for_once_it_is_loaded_and_nothing_leaves_the_machine(self, real: Play) -> None:
        assert real.asked == []
        assert real.left == set()


@pytest.fixture(scope="module")
def canned(site: Path, looking: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """The page with a worker that answers as normlint does here, or not at all."""
    page = (site / "playground" / "index.html").read_text(encoding="utf-8")
    page = page.replace("../assets/playground/worker.js", "/canned.js").replace('"seconds": 10', '"seconds": 1')
    fixed = json.loads(looking.look(BROKEN))["fix"]["source"]
    answers = {text: json.loads(looking.look(text)) for text in (BROKEN, fixed, LONG)}
    answers |= {"plain\n": {**answers[BROKEN], "canFix": True, "fix": None}}
    steps = [
        ["open", "/playground/canned.html", 390], ["until", "unknown"],
        ["write", "BROKEN"], ["until", "1 finding "], ["see"],
        ["click", "#playground-fix button"], ["until", "No findings"], ["see"],
        ["write", "slow"], ["until", "too long"], ["see"],
        ["write", "BROKEN"], ["until", "1 finding "],
        ["write", "fail"], ["until", "a reason"], ["see"],
        ["write", "plain\n"], ["until", "1 finding "], ["see"],
        ["write", "send"], ["until", "unknown"], ["send", "https://page.example/", "https://harness.example/"],
        ["open", "/playground/canned.html", 1280], ["until", "unknown"],
        ["write", "LONG"], ["until", "1 finding "], ["see"],
    ]  # fmt: skip
    texts = {"/playground/canned.html": page, "/canned.js": CANNED % json.dumps(answers)}
    return played(site, tmp_path_factory.mktemp("profile"), Play(steps, texts))


@needs_chromium
class TestThePage:
    def test_it_shows_the_fix_and_applies_it(self, canned: Play) -> None:
        broken, fixed, *_ = canned.told
        assert "\n+" in broken["fix"]
        assert "mean(-1, keepdim=True)" in fixed["text"]
        assert (fixed["status"], fixed["findings"], fixed["fix"]) == ("No findings in 1 norm.", "", "")

    def test_a_text_that_takes_too_long_is_ended(self, canned: Play) -> None:
        assert canned.told[2]["status"] == "Ended after 1 seconds: this text takes too long. Change it to try again."
        assert canned.told[2]["norms"] == ""

    def test_a_failure_is_said_and_is_not_the_end(self, canned: Play) -> None:
        assert canned.told[3]["status"] == "normlint failed on this text: a reason. Change it to try again."

    def test_a_finding_without_a_fix_says_so(self, canned: Play) -> None:
        assert canned.told[4]["fix"] == "No fix can be made for this."

    def test_no_text_makes_it_wider_than_the_window(self, canned: Play) -> None:
        assert max(one["wide"] for one in canned.told[:-1]) <= 390
        assert canned.told[-1]["wide"] <= 1280

    def test_neither_the_page_nor_its_worker_can_send_anything(self, canned: Play) -> None:
        assert canned.left == {"harness.example"}  # which is asked from outside of it
