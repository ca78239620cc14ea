"""What the playground runs in the browser: a text in, its findings and norms out."""

import json
from difflib import unified_diff
from importlib.util import find_spec

import normlint

CAN_FIX = find_spec("libcst") is not None


def look(source: str) -> str:
    """The findings, norms and fixes of a text, as JSON."""
    try:
        findings = normlint.check_source(source, "norm.py")
        norms = [{"name": one.qualname, "says": one.sentence} for one in normlint.list_norms(source, "norm.py")]
        fix = _fix(source) if findings and CAN_FIX else None
    except normlint.SourceError as error:
        return json.dumps({"error": str(error)})
    return json.dumps({"findings": [*map(_as_dict, findings)], "norms": norms, "canFix": CAN_FIX, "fix": fix})


def _as_dict(one: normlint.Finding) -> dict[str, object]:
    names = ("code", "name", "severity", "message", "line", "column", "end_line", "end_column")
    return {name: getattr(one, name) for name in names}


def _fix(source: str) -> dict[str, object] | None:
    """The text with all fixes made, and what is done; None where nothing can be fixed."""
    fixed = normlint.fix_source(source, "norm.py", unsafe=True)
    if fixed.source == source:
        return None
    lines = unified_diff(source.splitlines(), fixed.source.splitlines(), n=2, lineterm="")
    made = [f"{one.code} ({one.fix.applicability.value}): {one.fix.message}" for one in fixed.applied if one.fix]
    return {"source": fixed.source, "diff": [*lines][2:], "made": made}
