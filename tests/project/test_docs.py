"""README and documentation: every command is run, and says what the page shows."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from normlint.engine import config
from normlint.faces.options import _parser
from normlint.rules.registry import DOCS_URL, RULES
from tests.fences import FILES, Command, blocks, commands, diff, fits

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted(DOCS.glob("*.md"))]
WITH_COMMANDS = [page for page in PAGES if any(True for block in blocks(page) for _ in commands(block))]
TORCH = importlib.util.find_spec("torch") is not None
RUN = {"normlint", "grep", "cat", "echo", "flake8"}
INSTALLERS = (["python", "-m", "pip", "install"], ["pip", "install"], ["pipx", "install"], ["uv", "tool", "install"])
PUBLISHED = {"normlint", "torchfix", "ruff", "flake8", "flake8-bugbear", "pre-commit"}
ELSEWHERE = {  # what is run by another test, or is another tool that the same page installs
    "torchfix": "docs/comparison.md",
    "ruff": ".github/workflows/ci.yml",
    "mypy": ".github/workflows/ci.yml",
    "pre-commit": "tests/faces/test_pre_commit.py",
    "git": "CONTRIBUTING.md",
    "cd": "CONTRIBUTING.md",
    "npm": "tests/faces/test_vscode.py",
}

sys.path.insert(0, str(ROOT / "scripts"))
import docs_pages  # noqa: E402
import docs_reference  # noqa: E402
import docs_rules  # noqa: E402

sys.path.remove(str(ROOT / "scripts"))


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    there = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NORMLINT_CACHE_DIR": str(cwd / ".c"),
    }
    return subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env=os.environ | there,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """What the pages speak of: the demo and the seeds, below fixtures and beside, and a `src`."""
    for name in ("demo", "seeds"):
        shutil.copytree(ROOT / "fixtures" / name, tmp_path / "fixtures" / name)
        shutil.copytree(ROOT / "fixtures" / name, tmp_path, dirs_exist_ok=True)
    shutil.copy(tmp_path / "rmsnorm.py", tmp_path / "model.py")
    shutil.copytree(ROOT / "fixtures" / "demo", tmp_path / "src")
    return tmp_path


def installs(part: list[str]) -> list[str] | None:
    """What a command installs; None for one that doesn't."""
    for installer in INSTALLERS:
        if part[: len(installer)] == installer:
            words = iter(part[len(installer) :])
            return [word for word in words if not word.startswith("-") or (word in ("-c", "-r") and not next(words))]
    return None


def check_installed(requirement: str) -> None:
    name, extras = re.fullmatch(r"([\w.-]+)(?:\[([\w,]+)\])?(?:[<>=]=?.*)?", requirement).groups()
    assert name in {".", *PUBLISHED}, f"nobody knows the package {name}"
    known = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    assert set(filter(None, (extras or "").split(","))) <= set(known), (
        f"{requirement} asks for an extra that isn't there"
    )


def is_run_here(command: Command, cwd: Path) -> bool:
    """Has this test to run it? What it doesn't is checked by what it names."""
    ours = True
    for part in command.parts:
        wanted = installs(part)
        for requirement in wanted or ():
            check_installed(requirement)
        program = part[0]
        if part[:3] == ["python", "-m", "pytest"] or program == "pytest":
            files = [word for word in part if word.endswith(".py")]
            assert all((ROOT / file).exists() for file in files), command.text
            ours = False  # tests run in the suite itself
        elif program == "python" and part[1].endswith(".py"):
            assert (ROOT / part[1]).exists(), command.text
            ours = False
        elif wanted is None and program not in RUN:
            assert program in ELSEWHERE, f"nobody runs `{command.text}`; say in ELSEWHERE which test does"
            assert program in (ROOT / ELSEWHERE[program]).read_text(encoding="utf-8")
            ours = False
        ours = ours and wanted is None and "tests/held/broken" not in part
    return ours


def at_hand(command: Command) -> str:
    """The command without what installs: `python -m pip install . && normlint` runs normlint."""
    kept = [part for part in command.text.split(" && ") if installs(Command(part, None, 0).parts[0]) is None]
    return " && ".join(kept)


@pytest.mark.skipif(sys.platform == "win32", reason="the pages' commands are for a POSIX shell")
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_and_say_what_it_shows(page: Path, scratch: Path) -> None:
    for block in blocks(page):
        if block.title and block.lang in FILES:
            (scratch / block.title).write_text(block.text, encoding="utf-8")
        for command in commands(block):
            plain = Command(at_hand(command), command.shown, command.line)
            is_run_here(command, scratch)
            if not plain.text or not is_run_here(plain, scratch):
                continue
            if not TORCH and "--verify" in plain.text:
                pytest.skip(f"torch is not installed: line {command.line} on is not run")
            done = shell(plain.text, scratch)
            assert done.returncode in (0, 1), f"{page.name}:{command.line}: {command.text}\n{done.stdout}"
            if command.shown is not None:
                assert fits(command.shown, done.stdout), f"{page.name}:{command.line}: {command.text}\n{done.stdout}"


@pytest.mark.parametrize(("shown", "said", "same"), [
    ("a\nb\n", "a\nb\n", True),
    ("a\n...\n", "a\nb\nc\n", True),
    ("torch ...)", "torch 2.9)", True),
    ("a\n", "a\nb\n", False),
    ("a.b", "axb", False),
])  # fmt: skip
def test_three_dots_stand_for_anything_and_nothing_else_does(shown: str, said: str, same: bool) -> None:
    assert fits(shown, said) is same


def test_a_command_that_nobody_knows_is_no_command_of_the_docs(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="nobody runs"):
        is_run_here(Command("frobnicate model.py", None, 1), tmp_path)
    with pytest.raises(AssertionError, match="an extra that isn't there"):
        is_run_here(Command("python -m pip install 'normlint[frobnicate]'", None, 1), tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_in_the_text_are_there(page: Path) -> None:
    there = {option for action in _parser()._actions for option in action.option_strings}
    spans = re.findall(r"(?<!`)`(normlint (?!rule )[^`\n]*)`(?!`)", page.read_text(encoding="utf-8"))
    named = {word for span in spans for word in re.findall(r"(?<=\s)--[a-z-]+", span)}
    assert named <= there


def test_the_test_that_is_shown_is_the_one_that_the_readmes_test_runs() -> None:
    shown = next(block.text for block in blocks(DOCS / "testing.md") if "assert_norm" in block.text)
    assert f"```python\n{shown}```\n" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_text_installs_is_there_to_be_installed(page: Path) -> None:
    for span in re.findall(
        r"(?<!`)`((?:python -m pip|pip|pipx|uv tool) install [^`\n]*)`(?!`)", page.read_text("utf-8")
    ):
        for requirement in installs(Command(span, None, 0).parts[0]) or ():
            check_installed(requirement)


class TestReference:
    def test_each_key_is_described(self) -> None:
        assert list(docs_reference.ABOUT) == list(config._KEYS)
        for key in config._KEYS:
            assert f"### `{key}`\n" in docs_reference.settings()

    @pytest.mark.parametrize("key", docs_reference.ABOUT)
    def test_the_example_of_a_key_is_read(self, key: str, tmp_path: Path) -> None:
        text = f"[tool.normlint]\n{key} = {docs_reference.ABOUT[key][0]}\n"
        assert text in docs_reference.settings()
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
        assert getattr(config.load(str(tmp_path / "pyproject.toml")), key.replace("-", "_")) is not None

    def test_each_option_is_there(self) -> None:
        shown = docs_reference.options()
        options = [action for action in _parser()._actions if action.option_strings]
        assert {name for one in options for name in one.option_strings if f"`{name}" not in shown} == set()
        assert all(docs_reference._escaped(one.help or "") in shown for one in options)


SIDES = ("before", "after")


class TestRules:
    @pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
    def test_what_a_page_shows_as_the_fix_is_what_the_docstring_promises(self, rule: docs_rules.Rule) -> None:
        promised = re.findall(r"^```diff\n(.*?)^```$", rule.doc, re.M | re.S)
        page = docs_rules.page(rule)
        before, after = (re.findall(rf"^```{{\.py \.{name} [^\n]*\n(.*?)^```$", page, re.M | re.S) for name in SIDES)
        assert [diff(*two) for two in zip(before, after, strict=True)] == promised

    @pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
    def test_a_page_holds_the_whole_docstring(self, rule: docs_rules.Rule) -> None:
        prose = re.sub(r"^```\w+\n.*?^```$", "", rule.doc, flags=re.M | re.S).replace("Fix safety: ", "")
        page = docs_rules.page(rule).lower()
        assert [line for line in prose.lower().splitlines() if line not in page] == []
        assert "# error: [" not in page

    def test_each_rule_is_in_the_overview(self) -> None:
        shown = docs_rules.overview(RULES.values())
        assert all(f"| {rule.code} | [{rule.name}]({rule.name}.md) |" in shown for rule in RULES.values())


def test_links_of_files_from_elsewhere_lead_into_the_site_or_to_the_repository(tmp_path: Path) -> None:
    for path in (ROOT / file for file in docs_pages.TAKEN.values()):
        if path.exists():
            for _, target, _ in docs_pages.LINK.findall(docs_pages.rehomed(path)):
                page = target.partition("#")[0]
                assert page in docs_pages.TAKEN or (DOCS / page).exists() or page == "speed.svg", target


def test_each_rule_has_the_address_that_it_tells() -> None:
    assert f"site_url: {DOCS_URL.removesuffix('rules/')}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert {f"rules/{rule.url.removeprefix(DOCS_URL)}.md" for rule in RULES.values()} <= docs_pages.generated().keys()


def test_every_rule_has_a_way_to_judge_its_findings() -> None:
    page = (DOCS / "is-this-finding-right.md").read_text(encoding="utf-8")
    told = [code for row in re.findall(r"^\| (NRM.*?) \|", page, re.MULTILINE) for code in row.split(", ")]
    assert told == sorted(RULES)
