"""How long running the norms of a tree takes, and how much memory: the verifier alone, torch's import included.

    python benchmarks/verify.py FOLDER [--workers N]

The norms are recognised first, which isn't counted. Memory is the proportional share (PSS) of the worker and its
children, sampled every 50 ms; Linux only.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from normlint.engine.discovery import Configs, discover
from normlint.engine.run import check_all
from normlint.engine.selection import Demand
from normlint.engine.settings import Settings
from normlint.verify.guard.run import Verifier
from normlint.verify.job import Job
from normlint.verify.program.prepare import prepare


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    jobs = recognised(args.folder)
    stop, peak = threading.Event(), [0]
    sampler = threading.Thread(target=sample, args=(stop, peak))
    sampler.start()
    start = time.perf_counter()
    with Verifier("cpu", workers=args.workers) as verifier:
        statuses = Counter(verdict.status for _, verdict in verifier.verdicts(jobs))
    took = time.perf_counter() - start
    stop.set()
    sampler.join()
    distinct = len({job.key for job in jobs})
    print(f"{len(jobs)} norms, {distinct} different, {args.workers} at a time: {dict(statuses)}")
    print(f"{took:.1f} s with torch's import, {took / max(distinct, 1) * 1000:.0f} ms a norm; {peak[0] / 1024:.0f} MB")
    return 0


def recognised(folder: str) -> list[Job]:
    """The jobs of all norms below the folder."""
    settings = Settings(os.getcwd())
    paths = discover([folder], Configs(lambda given: given, settings)).paths
    reports = check_all([(path, Demand(prepare=prepare)) for path in paths])
    listed = [norm.pending for report in reports for norm in report.norms]
    return [one.job for one in listed if one is not None and isinstance(one.job, Job)]


def sample(stop: threading.Event, peak: list[int]) -> None:
    """The largest sum of PSS in KB over all descendants of this process."""
    while not stop.wait(0.05):
        peak[0] = max(peak[0], sum(map(share, descendants(os.getpid()))))


def descendants(pid: int) -> list[int]:
    """The processes below `pid`."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in map(int, below) for found in (child, *descendants(child))]


def share(pid: int) -> int:
    """The process's proportional share in KB; 0 once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    sys.exit(main())
