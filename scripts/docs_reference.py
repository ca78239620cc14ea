"""The reference of all settings and options, from the code that reads them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from normlint.engine.config import _KEYS
from normlint.faces.keys import ABOUT, default_of, kind_of
from normlint.faces.options import _parser

TITLES = {"positional arguments": "paths", "options": "help"}  # argparse's own


def settings() -> str:
    """A section for each key of `[tool.normlint]`."""
    return "\n".join(line for key in _KEYS for line in _setting(key))


def _setting(key: str) -> Iterator[str]:
    example, about = ABOUT[key]
    yield from (f"### `{key}`", "", about, "", f"- *Type:* {kind_of(key)}", f"- *Default:* {default_of(key)}", "")
    yield from ("```toml", "[tool.normlint]", f"{key} = {example}", "```", "")


def options() -> str:
    """A table for each group of the command's options."""
    return "\n".join(line for group in _parser()._action_groups for line in _group(group))  # noqa: SLF001


def _group(group: argparse._ArgumentGroup) -> Iterator[str]:
    shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]  # noqa: SLF001
    if shown:
        title = TITLES.get(group.title or "", group.title or "").partition(" (")[0].capitalize()
        yield from (f"### {title}", "", "| option | what it does |", "|---|---|")
        yield from (f"| {_spelled(action)} | {_escaped(action.help or '')} |" for action in shown)
        yield ""


def _spelled(action: argparse.Action) -> str:
    names = action.option_strings or ["[PATH]..."]
    value = action.metavar or ("\\|".join(action.choices) if action.choices else "")
    takes = f" {value}" if value and action.option_strings and action.nargs != 0 else ""
    return ", ".join(f"`{name}{takes}`" for name in names).replace("\\|", "|").replace("|", "\\|")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
