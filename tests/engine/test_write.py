"""Writing: all or nothing, whoever else is at work and whatever ends it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from normlint.engine import write
from normlint.engine.write import write_atomically
from normlint.text.raw import BadSourceError

OLD, NEW = b"old\n", b"new and longer\n"
Refusal = Callable[[pytest.MonkeyPatch, Path], None]


def _failing(name: str, number: int) -> Refusal:
    def refuse(monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
        def fail(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, name, fail)

    return refuse


def _read_only(_: pytest.MonkeyPatch, file: Path) -> None:
    file.chmod(0o444)


REFUSED = {
    "a full disk, while it is written": _failing("fsync", errno.ENOSPC),
    "a full disk, when it is put in place": _failing("replace", errno.ENOSPC),
    "a file that nobody may write": _read_only,
    "a directory that takes no new file": _failing("open", errno.EACCES),
}


@pytest.mark.parametrize("refuse", REFUSED.values(), ids=REFUSED)
def test_the_file_is_as_it_was_after(refuse: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(OLD)
    with monkeypatch.context() as patched:
        refuse(patched, file)
        with pytest.raises(OSError, match=r"No space|Permission"):
            write_atomically(str(file), NEW, OLD)
    assert file.read_bytes() == OLD
    assert os.listdir(tmp_path) == ["a.py"]


def test_what_was_changed_in_the_meantime_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"edited\n")
    with pytest.raises(BadSourceError, match="changed in the meantime"):
        write_atomically(str(file), NEW, OLD)
    assert file.read_bytes() == b"edited\n"
    assert os.listdir(tmp_path) == ["a.py"]


def test_what_is_gone_in_the_meantime_does_not_come_back(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(str(tmp_path / "a.py"), NEW, OLD)
    assert os.listdir(tmp_path) == []


def test_mode_and_links_are_kept(tmp_path: Path) -> None:
    file, link = tmp_path / "a.py", tmp_path / "sub" / "b.py"
    link.parent.mkdir()
    file.write_bytes(OLD)
    file.chmod(0o750)
    link.symlink_to("../a.py")
    write_atomically(str(link), NEW, OLD)
    assert link.is_symlink()
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (NEW, 0o750)
    assert sorted(os.listdir(tmp_path)) == ["a.py", "sub"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(OLD)
    os.chown(file, 1234, 1235)
    write_atomically(str(file), NEW, OLD)
    assert (file.read_bytes(), file.stat().st_uid, file.stat().st_gid) == (NEW, 1234, 1235)


KILLED = """
import os, sys
from normlint.engine import write
real = os.{call}
def die(*arguments, **named):
    if {after}:
        real(*arguments, **named)
    os.kill(os.getpid(), 9)
os.{call} = die
write.write_atomically(sys.argv[1], b"new and longer\\n", b"old\\n")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_kill_leaves_the_old_file_or_the_new_one(call: str, after: bool, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(OLD)
    program = KILLED.format(call=call, after=after)
    ran = subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    assert ran.returncode == -signal.SIGKILL
    assert file.read_bytes() == (NEW if call == "replace" and after else OLD)


def test_two_runs_at_once_write_one_file_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other run puts its text in place between this one's first look and its own writing."""
    file = tmp_path / "a.py"
    file.write_bytes(OLD)
    real = write.shutil.copymode

    def meanwhile(*arguments: str) -> None:
        monkeypatch.setattr(write.shutil, "copymode", real)
        write_atomically(str(file), b"theirs\n", OLD)
        real(*arguments)

    monkeypatch.setattr(write.shutil, "copymode", meanwhile)
    with pytest.raises(BadSourceError, match="changed in the meantime"):
        write_atomically(str(file), NEW, OLD)
    assert file.read_bytes() == b"theirs\n"
    assert os.listdir(tmp_path) == ["a.py"]


def test_what_a_killed_run_has_left_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(OLD)
    for name in (".normlint-abcd1234", ".normlint-zyxw_987", ".normlint-mine.toml", "normlint-abcd1234"):
        (tmp_path / name).write_bytes(OLD)
        os.utime(tmp_path / name, (1, 1))
    os.utime(tmp_path / ".normlint-zyxw_987")  # of a run that goes on
    write_atomically(str(tmp_path / "a.py"), NEW, OLD)
    assert (tmp_path / "a.py").read_bytes() == NEW
    left = [".normlint-mine.toml", ".normlint-zyxw_987", "a.py", "normlint-abcd1234"]
    assert sorted(os.listdir(tmp_path)) == left
