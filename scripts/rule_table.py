"""Write the README's table of rules from the registry: `python scripts/rule_table.py`."""

from __future__ import annotations

from pathlib import Path

from normlint.faces.rules import table

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- rules: begin -->\n", "<!-- rules: end -->\n"


def renewed(text: str) -> str:
    """The README with the table as the registry has it now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
