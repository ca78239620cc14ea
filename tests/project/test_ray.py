"""The example of the documentation that lints a table of sources with Ray Data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'normlint[ray]'")
pytest.importorskip("ray", reason="ray is not installed: pip install 'normlint[ray]'")

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "lint_parquet.py"
WRONG = """\
import torch

def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean() + eps)).type_as(x) * weight
"""
NOTEBOOK = json.dumps(
    {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": WRONG}],
     "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
)  # fmt: skip
SOURCES: dict[str, object] = {
    "wrong.py": WRONG,
    "silent.py": WRONG.replace("weight, eps", "weight, eps").replace("def rms", "# normlint: skip-file\ndef rms"),
    "right.py": WRONG.replace("mean()", "mean(-1, keepdim=True)"),
    "book.ipynb": NOTEBOOK,
    "page.md": f"# A page\n\n```python\n{WRONG}```\n",
    "empty.py": "",
}
BAD: dict[str, object] = {
    "broken.py": f"{WRONG}def f(:\n",
    "none.py": None,
    "book2.ipynb": NOTEBOOK[:-9],
}


def run(*arguments: object) -> str:
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done.stderr
    return done.stdout


def test_a_table_is_linted_as_the_command_lints_files(tmp_path: Path) -> None:
    import pyarrow as pa

    rows = [{"path": path, "content": text} for path, text in {**SOURCES, **BAD}.items()]
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(rows * 20), tmp_path / "in" / "sources.parquet")
    told = run(SCRIPT, tmp_path / "in", tmp_path / "out")
    assert "180 rows in " in told
    assert told.strip().endswith(" rows/s")
    found = pq.read_table(tmp_path / "out").to_pylist()
    assert {row["path"] for row in found if row["error"]} == BAD.keys()
    assert len([row for row in found if row["error"]]) == 20 * len(BAD)
    (tmp_path / "files").mkdir()
    for path, text in SOURCES.items():
        (tmp_path / "files" / path).write_text(str(text), encoding="utf-8")
    answer = run("-m", "normlint", "--isolated", "--no-cache", "--output-format", "json", tmp_path / "files")
    same = ("code", "message", "severity", "norm", "cell", "line", "column")
    expected = [(Path(one["path"]).name, *(one.get(name) for name in same)) for one in json.loads(answer)["findings"]]
    assert expected
    linted = [(row["path"], *(row[name] for name in same)) for row in found if not row["error"]]
    assert sorted(linted, key=str) == sorted(expected * 20, key=str)
