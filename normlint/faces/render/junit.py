"""JUnit's XML: a suite a file, a case a finding; a file without findings passes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from normlint.engine.report import Diagnostic, Failure, Report
from normlint.faces.render import Display, from_here, harmless
from normlint.faces.render.concise import place
from normlint.faces.render.verdicts import full_message

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, display: Display) -> str:
    """All files in their order, those that failed among them."""
    cases: dict[str, list[str]] = {path: [] for path in display.paths}
    failures: dict[str, int] = defaultdict(int)
    errors: dict[str, int] = defaultdict(int)
    for error in report.errors:
        cases.setdefault(error.path, []).append(_error(error))
        errors[error.path] += 1
    for finding, name in zip(report.findings, _names(report.findings), strict=True):
        cases.setdefault(finding.path, []).append(_failure(finding, name))
        failures[finding.path] += 1
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    count = sum(len(found) or 1 for found in cases.values())
    totals = f'tests="{count}" failures="{len(report.findings)}" errors="{len(report.errors)}"'
    lines.append(f'<testsuites name="normlint" {totals}>')
    for path, found in cases.items():
        lines += _suite(path, found, failures[path], errors[path])
    return "".join(f"{line}\n" for line in (*lines, "</testsuites>"))


def _names(findings: Iterable[Diagnostic]) -> Iterator[str]:
    """Services know a case by its name and its file from run to run: lines, which move, are no part of the name."""
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        name = f"{finding.code} in {finding.norm}" if finding.norm else finding.code
        seen[finding.path, name] += 1
        count = seen[finding.path, name]
        yield name if count == 1 else f"{name} ({count})"


def _suite(path: str, cases: list[str], failures: int, errors: int) -> Iterator[str]:
    counts = f'tests="{len(cases) or 1}" failures="{failures}" errors="{errors}" skipped="0"'
    yield f'  <testsuite name={_attribute(path)} package="normlint" {counts}>'
    yield from cases or [f'    <testcase name="normlint" {_home(path)}/>']
    yield "  </testsuite>"


def _failure(finding: Diagnostic, name: str) -> str:
    text = f"{finding.path}:{place(finding)}: {finding.code} {full_message(finding)}"
    line = f' line="{finding.start.line}"' if finding.start.cell is None else ""
    return (
        f"    <testcase name={_attribute(name)} {_home(finding.path)}{line}>"
        f'<properties><property name="severity" value="{finding.severity}"/></properties>'
        f"<failure message={_attribute(full_message(finding))} type={_attribute(finding.name)}>"
        f"{_text(text)}</failure></testcase>"
    )


def _error(error: Failure) -> str:
    line = f' line="{error.line}"' if error.line is not None else ""
    return (
        f'    <testcase name="normlint" {_home(error.path)}{line}>'
        f'<error message={_attribute(error.message)} type="unreadable"/></testcase>'
    )


def _home(path: str) -> str:
    return f"classname={_attribute(path)} file={_attribute(from_here(path))}"


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", harmless(text)))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", harmless(text)))
