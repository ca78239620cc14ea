"""The reference of all settings and options, from the code that reads them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from normlint.engine.config import _KEYS
from normlint.engine.settings import ConfigError, Settings
from normlint.faces.options import _parser

TITLES = {"positional arguments": "paths", "options": "help"}  # argparse's own


ABOUT = {  # key: (example, what it does); a test holds that no key is missing
    "select": ('["NRM1", "missing-eps"]', "The rules that speak, instead of those that are on by default."),
    "ignore": ('["NRM503"]', "Rules that keep quiet."),
    "extend-select": ('["NRM601"]', "Rules that speak besides the others."),
    "dtypes": ('["bf16", "fp32"]', "What the project runs in: what only other dtypes break is not reported."),
    "min-severity": ('"review"', "The lowest [severity](#severity) that is reported."),
    "fail-on": ('"error"', "The lowest severity at which the exit status is 1."),
    "unsafe-fixes": ("true", "`--fix` and `--diff` also make [unsafe fixes](fixing.md), without `--unsafe-fixes`."),
    "verify": ("true", "[Verify](verifying.md) norms wherever PyTorch is installed; `--no-verify` leaves it out."),
    "per-file-ignores": ('{ "tests/*" = ["NRM503"] }', "Rules that keep quiet in the files that a pattern fits."),
    "exclude": ('["third_party"]', "What is not looked at, instead of the default."),
    "extend-exclude": ('["third_party"]', "What is not looked at, besides `exclude`."),
    "respect-gitignore": ("false", "Leave out what `.gitignore` names."),
    "force-exclude": ("true", "Exclude files that are named on the command line, too, as pre-commit names them."),
    "output-format": ('"concise"', "How findings are shown."),
    "cache-dir": ('".cache/normlint"', "Where to remember what was found; relative to the file."),
}


def settings() -> str:
    """A section for each key of `[tool.normlint]`."""
    return "\n".join(line for key in _KEYS for line in _setting(key))


def _setting(key: str) -> Iterator[str]:
    example, about = ABOUT[key]
    yield from (f"### `{key}`", "", about, "", f"- *Type:* {kind_of(key)}", f"- *Default:* {default_of(key)}", "")
    yield from ("```toml", "[tool.normlint]", f"{key} = {example}", "```", "")


def kind_of(key: str) -> str:
    """What a value has to be, as its reader says of one that isn't."""
    try:
        return str(_KEYS[key](None, ""))
    except ConfigError as error:
        return str(error).removeprefix(" must be ")


def default_of(key: str) -> str:
    """What holds where nothing is said, in words."""
    value = getattr(Settings, key.replace("-", "_"))
    if key == "per-file-ignores":
        return "nothing"
    if value is None:
        return "the rules that are on by default" if key == "select" else "`.normlint_cache`, beside the configuration"
    return f"`{json.dumps(value)}`"


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
