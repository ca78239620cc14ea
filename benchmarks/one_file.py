"""How long linting one file takes, against Python's own start.

python benchmarks/one_file.py [--runs N] [--out results.json]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from harness import Command, about, arguments, beside, in_turn, normlint, save

WITHOUT: Final = '''"""Nothing of tensors."""


def greet(name: str) -> str:
    """Say hello."""
    return "hello, " + name
'''
WITH: Final = '''"""One norm, with a finding."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    """A root mean square norm."""

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True))
        return x / (rms + self.eps) * self.weight
'''
FILES: Final = {"no candidate": WITHOUT, "one norm": WITH}
MOST: Final = 15


def main() -> int:
    """Print the figures."""
    parser = arguments(__doc__, folder=False, runs=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as held:
        commands = [Command("python", (sys.executable, "-c", "pass"), "python -c pass")]
        imports = {}
        for name, text in FILES.items():
            path = Path(held, f"{name.replace(' ', '_')}.py")
            path.write_text(text, encoding="utf-8")
            words = ("--isolated", "--no-cache", str(path))
            commands.append(Command(name, normlint(*words), "normlint --isolated --no-cache FILE"))
            imports[name] = _imports(normlint(*words)[1:])
        timings = in_turn(commands, args.runs, warmup=3)
    base = timings["python"].median
    rows = []
    for command in commands:
        timing = timings[command.name]
        rows.append(
            {
                "name": command.name,
                "command": command.shown,
                "times": timing.times,
                "median": timing.median,
                "spread": timing.spread,
                "ratio": timing.median / base,
            }
        )
        print(f"{command.name:14} {timing.median * 1000:7.1f} ms  {timing.median / base:5.1f} × python -c pass")
    for name, found in imports.items():
        print(f"\nimported for a file with {name}: {len(found)} modules; the dearest, in µs of their own:")
        print("".join(f"{one['own']:8} {one['module']}\n" for one in found[:MOST]), end="")
    save(args.out, "one_file", {"about": about(normlint=beside("normlint")), "rows": rows, "imports": _short(imports)})
    return 0


def _imports(words: tuple[str, ...]) -> list[dict[str, Any]]:
    call = [sys.executable, "-X", "importtime", "-m", "normlint", *words]
    return parsed_imports(subprocess.run(call, capture_output=True, text=True, check=False).stderr)


def parsed_imports(told: str) -> list[dict[str, Any]]:
    """What `-X importtime` says, dearest first; times are in microseconds."""
    found = []
    for line in told.splitlines():
        own, _, rest = line.removeprefix("import time:").partition("|")
        whole, _, module = rest.partition("|")
        if line.startswith("import time:") and own.strip().isdigit():
            found.append({"module": module.strip(), "own": int(own), "with_others": int(whole)})
    return sorted(found, key=lambda one: (-int(one["own"]), str(one["module"])))


def _short(imports: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        name: {"modules": len(found), "microseconds": sum(one["own"] for one in found), "dearest": found[:MOST]}
        for name, found in imports.items()
    }


if __name__ == "__main__":
    sys.exit(main())
