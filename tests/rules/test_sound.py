"""Sound norms, and look-alikes of norms, are left alone."""

from __future__ import annotations

import pytest

from normlint.rules import analyse
from normlint.rules.registry import RULES
from tests.sound import collected, with_imports

CASES = collected("tests.sound")


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_nothing_is_found_in(text: str) -> None:
    text = with_imports(text)
    found = [(f.code, text[f.span.start : f.span.end]) for f in analyse(text).findings if RULES[f.code].default]
    assert found == []
