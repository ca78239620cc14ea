"""Render a report as JUnit XML: a suite per file, a failing case per finding, a passing one if there is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from normlint.engine.report import Diagnostic, Failure, Report
from normlint.faces.render import Display, from_here, harmless
from normlint.faces.render.verdicts import full_message, whole_line

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, display: Display) -> str:
    """Return the XML with a suite for each file, in order, also for those that could not be linted."""
    names = zip(report.findings, _names(report.findings), strict=True)
    found: dict[str, list[Element]] = {path: [] for path in display.paths}
    for error in report.errors:
        found.setdefault(error.path, []).append(_error(error))
    for finding, name in names:
        found.setdefault(finding.path, []).append(_failure(finding, name))
    root = Element("testsuites", name="normlint")
    for path, cases in found.items():
        suite = SubElement(root, "testsuite", name=_clean(path), package="normlint")
        suite.extend(cases or [_case("normlint", path)])
        _count(suite)
    _count(root)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, "unicode")}\n'


def _count(element: Element) -> None:
    """Set the attributes that count the cases of a suite by result."""
    for what, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(what, str(len(list(element.iter(tag)))))


def _names(findings: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield a unique name for each finding; services identify cases by it, so it doesn't contain the line."""
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        name = f"{finding.code} in {finding.norm}" if finding.norm else finding.code
        seen[finding.path, name] += 1
        count = seen[finding.path, name]
        yield name if count == 1 else f"{name} ({count})"


def _case(name: str, path: str, line: int | None = None) -> Element:
    case = Element("testcase", name=_clean(name), classname=_clean(path), file=_clean(from_here(path)))
    if line is not None:
        case.set("line", str(line))
    return case


def _failure(finding: Diagnostic, name: str) -> Element:
    case = _case(name, finding.path, finding.start.line if finding.start.cell is None else None)
    SubElement(SubElement(case, "properties"), "property", name="severity", value=finding.severity)
    message = _clean(full_message(finding))
    failure = SubElement(case, "failure", message=message, type=finding.name)
    failure.text = _clean(whole_line(finding))
    return case


def _error(error: Failure) -> Element:
    case = _case("normlint", error.path, error.line)
    SubElement(case, "error", message=_clean(error.message), type="unreadable")
    return case


def _clean(text: str) -> str:
    return _NOT_XML.sub("�", harmless(text))
