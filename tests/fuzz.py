"""Mutated norms, whose tokens are dropped, doubled, swapped and borrowed, and random texts of other kinds.

`python -m tests.fuzz --count 100000 --seed 1` prints each text that the analysis raises on, or takes long over.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import signal
import sys
import time
import tokenize
import traceback
import warnings
from collections.abc import Iterator
from functools import cache

from normlint.engine.linter import check_bytes
from normlint.engine.selection import Demand
from normlint.rules import analyse
from normlint.rules.registry import RULES
from tests.grid.cases import all_cases
from tests.soup import Soup, spliced, sprinkled, thrown

LIMIT = 2.0  # seconds of CPU for one text
ENDLESS = 60.0  # after so many the text is given up
MUTATIONS = 6  # at most, in one text
FENCE = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LAYOUT = (tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
STRANGE = tuple("None ... () [] {} 0 -1 1e400 10**30 'x' self lambda:x *x **x x[::2]".split())

Stretch = tuple[int, int]


@cache
def seeds() -> tuple[str, ...]:
    """The rules' own examples, and some of every kind of the grid."""
    examples = [m[1] for rule in RULES.values() for m in FENCE.finditer(rule.doc)]
    return (*examples, *(case.text for case in list(all_cases())[::29]))


@cache
def tokens(text: str) -> tuple[Stretch, ...]:
    """Where the tokens of a text stand."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return tuple(
        (starts[t.start[0] - 1] + t.start[1], starts[t.end[0] - 1] + t.end[1]) for t in found if t.type not in LAYOUT
    )


def mutated(text: str, chance: random.Random) -> str:
    """One to a few tokens of the text dropped, doubled, swapped, or replaced by another's."""
    edits: dict[Stretch, str] = {}
    stretches = tokens(text)
    for _ in range(chance.randint(1, MUTATIONS)):
        (start, end), (left, right) = chance.choice(stretches), chance.choice(stretches)
        other = text[left:right]
        match chance.randrange(6):
            case 0:
                edits[start, end] = ""
            case 1:
                edits[start, end] = f"{text[start:end]} {text[start:end]}"
            case 2:
                edits[start, end], edits[left, right] = other, text[start:end]
            case 3:
                edits[start, end] = other
            case 4:
                edits[start, end] = _borrowed(chance)
            case _:
                edits[start, end] = chance.choice(STRANGE)
    for (start, end), new in sorted(edits.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _borrowed(chance: random.Random) -> str:
    other = chance.choice(seeds())
    start, end = chance.choice(tokens(other))
    return other[start:end]


def accepted(text: str) -> bool:
    """Whether Python compiles the text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<fuzz>", "exec")
        except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
            return False
    return True


def texts(count: int, seed: int) -> Iterator[str]:
    """As many mutated texts that compile."""
    chance = random.Random(seed)
    while count:
        text = chance.choice(seeds())
        while chance.random() < 0.7:
            changed = mutated(text, chance) if tokens(text) else text
            if not accepted(changed):
                break
            text = changed
            yield text
            count -= 1
            if not count:
                return


def soups(count: int, seed: int) -> Iterator[str]:
    """As many texts of every kind: mutated, spliced, thrown together, from the grammar, with odd characters."""
    chance = random.Random(seed)
    mutants = texts(count, seed + 1)
    tokens = [text[start:end] for text in seeds() for start, end in _tokens_of(text)]
    for number in range(count):
        match number % 5:
            case 0:
                yield next(mutants)
            case 1:
                yield spliced(chance.choice(seeds()), chance.choice(seeds()), chance)
            case 2:
                yield thrown(tokens, chance)
            case 3:
                yield sprinkled(chance.choice(seeds()), chance)
            case _:
                yield Soup(chance).module()


def _tokens_of(text: str) -> tuple[Stretch, ...]:
    try:
        return tokens(text)
    except (tokenize.TokenError, IndentationError):
        return ()


def trouble(text: str, *, fixes: bool = True) -> str:
    """What goes wrong with a text: the traceback, or how long it took; nothing if all is well."""
    started = time.process_time()
    data = text.encode("utf-8", "surrogatepass")
    failures = [one.message for one in check_bytes("fuzz.py", data, Demand(fixes=fixes)).errors if one.internal]
    took = time.process_time() - started
    if failures and not accepted(text):
        failures = [one for one in failures if one.startswith("internal error")]
    if failures:
        return _traceback(text) or failures[0]
    return f"took {took:.1f} s" if took > LIMIT else ""


class Endless(BaseException):
    """A text takes so long that it may never end; not an Exception, which the analysis would catch and report."""


def _give_up(*_: object) -> None:
    raise Endless


def _in_time(text: str, *, fixes: bool) -> str:
    """As `trouble`, for texts that may never end; in a main thread only."""
    signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS)
    try:
        return trouble(text, fixes=fixes)
    except Endless:
        return f"did not end in {ENDLESS:.0f} s"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _traceback(text: str) -> str:
    """Of the analysis alone, where it is that which raises."""
    try:
        analyse(text)
    except Exception:  # noqa: BLE001
        return traceback.format_exc(limit=-3)
    return ""


def main() -> int:
    """Fuzz as often as asked; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description="fuzz the analysis with mutated norms and random texts")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fixes", type=int, default=4, help="make fixes for one text in so many; default: 4")
    options = parser.parse_args()
    wrong = 0
    for number, text in enumerate(soups(options.count, options.seed)):
        if why := _in_time(text, fixes=number % options.fixes == 0):
            wrong += 1
            sys.stdout.write(f"{text!r}\n--- {why}\n{'=' * 80}\n")
        if number % 1000 == 999:
            sys.stdout.write(f"{number + 1} texts, {wrong} went wrong\n")
            sys.stdout.flush()
    sys.stdout.write(f"{options.count} texts, {wrong} went wrong\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
