"""The cache never changes an answer: what is wrong with it costs time alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from normlint.engine import cache as caches
from normlint.engine import run as runs
from normlint.engine.cache import PREFIX, Cache, Known, directory_for, stamp_of
from normlint.engine.discovery import Configs
from normlint.engine.report import Diagnostic, Hunk, ListedNorm, PlacedEdit, PlacedFix, Report
from normlint.engine.selection import Demand, demand_of
from normlint.engine.settings import Settings
from normlint.engine.stored import restored, stored
from normlint.faces import entry
from normlint.text.finding import Applicability
from normlint.text.raw import digest_of
from normlint.text.source import Place
from tests.helpers import BAD, Ran

Run = Callable[..., Ran]
SOUND = "x = 1\n"
OLD = 1_700_000_000


@pytest.fixture
def tree(command: Run, tmp_path: Path, faked: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve sound files and a bad one, written long ago; the sieve is the real one's kind."""
    monkeypatch.setattr("normlint.text.marks.may_hold_norm", lambda text: "mean" in text)
    monkeypatch.setattr(caches, "_RACY", 0)
    for number in range(12):
        (tmp_path / f"{number:02}.py").write_text(SOUND)
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command from its very start."""

    def run(*arguments: str) -> Ran:
        status = entry.main(arguments)
        return Ran(status, *capsys.readouterr())

    return run


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose content is asked for from now on."""
    seen: list[str] = []
    for module in (entry, runs):
        real = module.read_bytes
        monkeypatch.setattr(module, "read_bytes", lambda path, real=real: (seen.append(path), real(path))[1])
    return seen


def kept() -> Path:
    """The cache's file."""
    return Path(caches._file_in(os.environ["NORMLINT_CACHE_DIR"]))


def test_nothing_is_read_that_is_known(tree: Path, answer: Run, reads: list[str]) -> None:
    first = answer()
    assert (first.status, "bad.py" in reads) == (1, True)
    reads.clear()
    assert answer() == first
    assert reads == []


def test_what_is_shown_of_known_files_is_what_was_shown(tree: Path, answer: Run, reads: list[str]) -> None:
    asked = [["--output-format", name] for name in ("full", "concise", "json", "sarif", "junit", "gitlab", "github")]
    asked += [["--show-norms"], ["--statistics"], ["--select", "NRM3"], ["--ignore-noqa"], ["--isolated"], ["bad.py"]]
    expected = [answer("--no-cache", *options) for options in asked]
    assert [answer(*options) for options in asked] == expected
    assert [answer(*options) for options in asked] == expected


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "nothing": (lambda tree: None, []),
    "the time alone": (lambda tree: os.utime(tree / "03.py", (OLD, OLD)), ["03.py"]),
    "a content of the same size and time": (lambda tree: change(tree / "03.py", "y = 2\n"), ["03.py"]),
    "a finding that comes": (lambda tree: (tree / "03.py").write_text(BAD), ["03.py"]),
    "a finding that goes": (lambda tree: (tree / "bad.py").write_text(SOUND), ["bad.py"]),
    "a file that comes": (lambda tree: (tree / "new.py").write_text(BAD), ["new.py"]),
    "a file that goes": (lambda tree: (tree / "03.py").unlink(), []),
    "a file that takes another's name": (lambda tree: (tree / "bad.py").rename(tree / "03.py"), ["03.py"]),
    "a configuration": (
        lambda tree: (tree / "pyproject.toml").write_text('[tool.normlint]\nselect = ["NRM3"]\n'),
        ["bad.py"],
    ),
    "codes to ignore in some files": (
        lambda tree: (tree / "pyproject.toml").write_text('[tool.normlint.per-file-ignores]\n"b*" = ["NRM1"]\n'),
        ["bad.py"],
    ),
}


def change(file: Path, text: str) -> None:
    """Behind the back of the file's size and time of change."""
    status = file.stat()
    file.write_text(text)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(("change", "read"), CHANGES.values(), ids=CHANGES)
def test_only_what_is_new_is_read_after(
    change: Callable[[Path], object], read: list[str], tree: Path, answer: Run, reads: list[str]
) -> None:
    answer()
    change(tree)
    expected = answer("--no-cache")
    reads.clear()
    assert answer() == expected
    assert sorted(set(reads)) == read
    reads.clear()
    assert answer() == expected
    assert reads == []


def test_a_file_written_just_now_is_not_believed_by_its_time(
    tree: Path, answer: Run, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "_RACY", 10**18)
    answer()
    reads.clear()
    answer()
    assert len(set(reads)) == 13
    monkeypatch.setattr(caches, "_RACY", 0)
    reads.clear()
    answer()
    assert len(set(reads)) == 13
    reads.clear()
    answer()
    assert reads == []


def rewrite(data: bytes) -> None:
    kept().write_bytes(data)


def each_line(change: Callable[[str, str], str]) -> None:
    """With a check that fits, as nobody can write it who isn't here, but anybody's bug could."""
    lines = []
    for line in kept().read_text().splitlines():
        key, _, rest = line.partition("\t")
        payload = change(key, rest.partition("\t")[2])
        lines.append(f"{key}\t{caches._check(key, payload)}\t{payload}\n")
    kept().write_text("".join(lines))


def lie() -> None:
    """Without the check: every file is said to be clean."""
    rewrite(re.sub(rb"[0-9a-f]{32}$", b"-", kept().read_bytes(), flags=re.MULTILINE))


WRONG: dict[str, Callable[[], object]] = {
    "is empty": lambda: rewrite(b""),
    "is cut short": lambda: rewrite(kept().read_bytes()[:-20]),
    "is cut at a line": lambda: rewrite(b"\n".join(kept().read_bytes().split(b"\n")[:5]) + b"\n"),
    "is noise": lambda: rewrite(bytes(range(256)) * 100),
    "has another byte": lambda: rewrite(kept().read_bytes().replace(b"global-reduction", b"global-reductiom")),
    "lies": lie,
    "has no fields": lambda: rewrite(kept().read_bytes().replace(b"\t", b" ")),
    "has too few fields": lambda: each_line(lambda key, payload: payload.replace("\t", "")),
    "holds no JSON": lambda: each_line(lambda key, payload: payload.replace("[[", "[")),
    "holds other JSON": lambda: each_line(lambda key, payload: payload.replace('"NRM101"', "101")),
    "is a directory": lambda: (kept().unlink(), kept().mkdir()),
    "is a link to what never ends": lambda: (kept().unlink(), kept().symlink_to("/dev/zero")),
    "is a pipe": lambda: (kept().unlink(), os.mkfifo(kept())),
    "is gone": lambda: kept().unlink(),
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_the_answer_is_the_same_where_the_cache(spoil: Callable[[], object], tree: Path, answer: Run) -> None:
    expected = answer("--no-cache")
    assert answer() == expected
    spoil()
    assert answer() == expected
    assert answer() == expected


def test_a_cache_that_has_become_too_large_is_begun_anew(
    tree: Path, answer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answer()
    monkeypatch.setattr(caches, "MOST", kept().stat().st_size)
    kept().write_bytes(kept().read_bytes() * 2)
    assert answer() == expected
    assert kept().stat().st_size <= caches.MOST


def test_a_cache_from_elsewhere_is_not_read(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    here, there = (str(tmp_path_factory.mktemp(name)) for name in ("here", "there"))
    known = Cache(here)
    known.learn_file("bad.py", stamp_of("bad.py"), digest_of(BAD.encode()))
    known.learn(digest_of(BAD.encode()), "", Known())
    known.save()
    assert Cache(here).known("bad.py", "") is not None
    (file,) = Path(here).glob(f"{PREFIX}*")
    Path(there, file.name).write_bytes(file.read_bytes())
    assert Cache(there).known("bad.py", "") is None


def test_a_changed_program_is_another(
    tree: Path, answer: Run, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer()
    reads.clear()
    monkeypatch.setattr(caches, "_sources", lambda: "changed")
    answer()
    assert len(set(reads)) == 13


def test_a_link_is_not_followed_to_be_written(tree: Path, answer: Run) -> None:
    (tree / "precious").write_text("mine")
    kept().symlink_to(tree / "precious")
    assert answer().status == 1
    assert (tree / "precious").read_text() == "mine"


def test_a_directory_that_is_a_link_is_no_cache(tree: Path, answer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NORMLINT_CACHE_DIR")
    (tree / "elsewhere").mkdir()
    (tree / ".normlint_cache").symlink_to(tree / "elsewhere")
    assert answer().status == 1
    assert list((tree / "elsewhere").iterdir()) == []


def test_a_configuration_can_not_name_a_directory_outside_of_its_project(
    tree: Path, answer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NORMLINT_CACHE_DIR")
    (tree / "pyproject.toml").write_text('[tool.normlint]\ncache-dir = "../outside"\n')
    ran = answer()
    assert (ran.status, ran.out) == (2, "")
    assert "cache-dir '../outside' is outside of the project; --cache-dir may name any" in ran.err
    assert not (tree.parent / "outside").exists()
    assert answer("--cache-dir", "inside").status == 1


def test_a_directory_that_can_not_be_written_is_no_cache(
    tree: Path, answer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "file").write_text("")
    monkeypatch.setenv("NORMLINT_CACHE_DIR", str(tree / "file" / "cache"))
    expected = answer("--no-cache")
    assert answer() == expected


def test_a_new_directory_tells_git_and_backups(tree: Path, answer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NORMLINT_CACHE_DIR")
    answer()
    file = Path(caches._file_in(".normlint_cache")).name
    assert sorted(os.listdir(".normlint_cache")) == [".gitignore", "CACHEDIR.TAG", file]
    assert (
        (tree / ".normlint_cache" / "CACHEDIR.TAG")
        .read_text()
        .startswith("Signature: 8a477f597d28d172789f06886806bc55")
    )


@pytest.mark.parametrize("options", [["--no-cache"], ["--diff"], ["--fix"], ["-"]], ids=" ".join)
def test_no_cache_is_made_with(options: list[str], tree: Path, answer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setenv("NORMLINT_CACHE_DIR", str(tree / "new"))
    answer(*options)
    assert not (tree / "new").exists()


def test_a_sound_file_by_itself_needs_no_cache(tree: Path, answer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMLINT_CACHE_DIR", str(tree / "new"))
    assert answer("03.py") == Ran(0, "All checks passed: 0 norms in 1 file.\n", "")
    assert not (tree / "new").exists()


PLACES = {
    "beside the configuration": ({}, None, None, "root/.normlint_cache"),
    "as the configuration says, from there": ({"cache_dir": "c"}, None, None, "root/c"),
    "as the environment says, from here": ({"cache_dir": "c"}, "e", None, "root/sub/e"),
    "as the command line says, from here": ({"cache_dir": "c"}, "e", "g", "root/sub/g"),
}


@pytest.mark.parametrize(("values", "variable", "given", "place"), PLACES.values(), ids=PLACES)
def test_the_directory_is(
    values: dict[str, str],
    variable: str | None,
    given: str | None,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "root" / "sub")
    monkeypatch.delenv("NORMLINT_CACHE_DIR", raising=False)
    if variable:
        monkeypatch.setenv("NORMLINT_CACHE_DIR", variable)
    configs = Configs(lambda _: Settings(str(tmp_path / "root"), **values))
    assert directory_for(configs, given) == str(tmp_path / place)


def test_a_name_with_a_line_end_is_read_each_time(tree: Path, answer: Run, reads: list[str]) -> None:
    (tree / "a\nb\t.py").write_text(SOUND)
    expected = answer()
    reads.clear()
    assert answer() == expected
    assert set(reads) == {"a\nb\t.py"}


def test_runs_at_once_agree(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.py").write_text(SOUND)
    command = [sys.executable, "-m", "normlint", "--isolated"]
    environment = {name: value for name, value in os.environ.items() if name != "NORMLINT_CACHE_DIR"}
    running = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(6)
    ]
    assert [one.communicate()[0] for one in running] == [
        b"normlint: warning: 0 norms found in .: is this the right folder?\nAll checks passed: 0 norms in 40 files.\n"
    ] * 6
    file = Path(caches._file_in(str(tmp_path / ".normlint_cache"))).name
    assert sorted(os.listdir(tmp_path / ".normlint_cache")) == [".gitignore", "CACHEDIR.TAG", file]


DEMANDS = {
    "nothing": {},
    "rules": {"select": ("NRM1",), "ignore": ("NRM101",), "extend_select": ("NRM6",)},
    "fixes": {"unsafe_fixes": True},
    "files": {"per_file_ignores": (("*.py", ("NRM1",)), ("b", ("NRM2",)))},
}


@pytest.mark.parametrize("values", DEMANDS.values(), ids=DEMANDS)
def test_settings_name_the_demand_they_make(values: dict[str, object]) -> None:
    settings = Settings("/r", **values)
    assert settings.wanted("/r/a.py") == demand_of(settings, "/r/a.py").key
    assert not values or settings.wanted("/r/a.py") != Demand().key


def test_every_part_of_a_report_comes_back() -> None:
    edit = PlacedEdit(Place(None, 1, 2), Place(3, 4, 5), "\ud800\n")
    fix = PlacedFix(Applicability.UNSAFE, "fix", (edit,), (Hunk(2, 3, ("a\t",), ()),), made=True)
    plain = Diagnostic("NRM1", "name", "message", "a.py", Place(1, 2, 3), Place(1, 2, 4), "norm", ("变",), 7)
    full = replace(plain, fix=fix, consequence="why", norms=(1, 2))
    norm = ListedNorm("a.py", Place(None, 1, 1), "rms", "f", "mean", number=3, unit=4)
    back = restored("a.py", stored(Report((plain, full), (norm,))))
    assert back == Report((plain, full), (norm,))
    assert (back.findings[1].norms, back.findings[1].consequence, back.norms[0].unit) == ((1, 2), "why", 4)
    assert restored("a.py", stored(Report((plain,), (norm,))), norms=False) == Report((plain,), unlisted=1)
    assert restored("a.py", stored(Report(skipped=("a.py",)))) == Report(skipped=("a.py",))


@pytest.mark.parametrize("text", ["{", "{}", "[1]", "[[]]", "3", '"x"', "[" * 10**5, "null", '[["a"]]'])
def test_no_report_comes_of(text: str) -> None:
    assert restored("a.py", Known(text)) is None
    assert restored("a.py", Known("", text)) is None
