"""Broken norms get their code, and no other."""

from __future__ import annotations

import pytest

from normlint.rules import analyse
from normlint.rules.registry import RULES
from tests.sound import collected, with_imports

CASES = collected("tests.broken")


@pytest.mark.parametrize(("codes", "text"), CASES.values(), ids=CASES)
def test_the_defect_is_found_in(codes: tuple[str, ...], text: str) -> None:
    found = {f.code for f in analyse(with_imports(text)).findings if RULES[f.code].default}
    assert found == set(codes)
