"""`assert_norm` over many seeds: how often a right norm fails, and a wrong one passes.

python -m scripts.testing_seeds --seeds 600
"""

from __future__ import annotations

import argparse
import collections
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from normlint.testing import assert_norm
from tests.verify.test_testing import OTHER, RIGHT, SAME, WRONG

Case = tuple[str, bool, Callable[[], Any], dict[str, Any]]


def cases() -> Iterator[Case]:
    """Name, whether it is right, the norm, and how it is called."""
    for name, (made, asked) in RIGHT.items():
        if "seed" not in asked:
            yield name, True, made, asked
    for name, (made, asked, _) in WRONG.items():
        yield name, False, made, asked
    for name, (made, reference, asked) in SAME.items():
        yield f"reference: {name}", True, made, {**asked, "reference": reference()}
    for name, (made, reference, asked, _) in OTHER.items():
        yield f"reference: {name}", False, made, {**asked, "reference": reference()}


def passes(made: Callable[[], Any], asked: dict[str, Any], seed: int) -> bool:
    """Whether `assert_norm` raises nothing."""
    try:
        assert_norm(made(), **asked, seed=seed)
    except AssertionError:
        return False
    return True


def main() -> None:
    """Counts what was misjudged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    runs, misjudged = collections.Counter[bool](), collections.Counter[str]()
    for seed in range(args.first, args.first + args.seeds):
        for name, right, made, asked in cases():
            runs[right] += 1
            if passes(made, asked, seed) != right:
                misjudged[name] += 1
                print(f"{name}, seed {seed}: {'failed' if right else 'passed'}", flush=True)
    print(f"{runs[True]} runs of right norms, {runs[False]} of wrong ones, {misjudged.total()} misjudged")


if __name__ == "__main__":
    main()
