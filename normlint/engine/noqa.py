"""`--add-noqa`: a comment on each line that has a finding, in the file's own text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from normlint.engine.report import Diagnostic, Failure
from normlint.engine.write import write_atomically
from normlint.text.raw import NOTEBOOK, BadSourceError, reason
from normlint.text.read import read
from normlint.text.source import Source, split_lines
from normlint.text.suppress import NOQA, line_ranges


def add_noqa(findings: Iterable[Diagnostic]) -> tuple[int, tuple[Failure, ...]]:
    """Write the comments; how many lines got one, and the files that could not be written."""
    by_file: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for finding in findings:
        by_file[finding.path][finding.start.line].add(finding.code)
    added, failures = 0, []
    for path, wanted in by_file.items():
        try:
            added += _add_to_file(path, wanted)
        except BadSourceError as bad:
            failures.append(Failure(path, None, bad.message))
        except OSError as error:
            failures.append(Failure(path, None, reason(error)))
    return added, tuple(failures)


def _add_to_file(path: str, wanted: Mapping[int, set[str]]) -> int:
    source = read(path)
    if source.kind == NOTEBOOK:
        raise BadSourceError("--add-noqa doesn't write notebooks: put the comment in the cell")
    if not source.faithful:
        raise BadSourceError(f"not written: {source.encoding} would not give the same bytes back")
    text, count = with_noqa(source, wanted)
    write_atomically(path, source.encode(text))
    return count


def with_noqa(source: Source, wanted: Mapping[int, set[str]]) -> tuple[str, int]:
    """The source's text with a comment for these codes by line, and how many comments there are."""
    lines = split_lines(source.text)
    ranges = line_ranges(lines)
    by_last_line: dict[int, set[str]] = defaultdict(set)
    for line, codes in wanted.items():
        by_last_line[ranges.get(line, (line - 1, line))[1]] |= codes
    for line, codes in by_last_line.items():
        lines[line - 1] = _commented(lines[line - 1], codes)
    return "".join(lines), len(by_last_line)


def _commented(line: str, codes: set[str]) -> str:
    """An old comment that names codes is extended."""
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    old = NOQA.search(body)
    if old and old["codes"]:
        listed = [code for code in re.split(r"[,\s]+", old["codes"]) if code]
        both = ", ".join(dict.fromkeys([*listed, *sorted(codes)]))
        gap = " " if old["codes"][-1].isspace() else ""
        return f"{body[: old.start('codes')]}{both}{gap}{body[old.end('codes') :]}{end}"
    return f"{body.rstrip()}  # noqa: {', '.join(sorted(codes))}{end}"
