"""Two runs at once: each file is mended once, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parent.parent / "fixtures" / "demo" / "rmsnorm.py"


def test_two_runs_at_once_leave_every_file_mended_and_nothing_beside_it(tmp_path: Path) -> None:
    before = DEMO.read_text(encoding="utf-8")
    names = [f"norm{number}.py" for number in range(12)]
    for name in names:
        (tmp_path / name).write_text(before, encoding="utf-8")
    command = [sys.executable, "-m", "normlint", "--isolated", "--fix", "."]
    runs = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    ends = [(*run.communicate(), run.returncode) for run in runs]
    assert all(status in (0, 1, 2) and b"internal error" not in told for _, told, status in ends)
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)  # what one of them left to the other
    texts = {(tmp_path / name).read_text(encoding="utf-8") for name in names}
    assert len(texts) == 1
    assert "dim=-1, keepdim=True" in texts.pop()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
