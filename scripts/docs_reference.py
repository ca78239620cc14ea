"""The reference of all settings and options, from the code that reads them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from normlint.engine.config import _KEYS, FORMATS
from normlint.engine.settings import Settings
from normlint.faces.options import _parser

TITLES = {"positional arguments": "paths", "options": "help"}  # argparse's own
LIST = "list of codes, prefixes or names"
ABOUT = {  # key: (type, example, what it does); a test holds that no key is missing
    "select": (LIST, '["NRM1", "missing-eps"]', "The rules that speak, instead of those that are on by default."),
    "ignore": (LIST, '["NRM503"]', "Rules that keep quiet."),
    "extend-select": (LIST, '["NRM601"]', "Rules that speak besides the others."),
    "dtypes": (
        "list of fp16, bf16, fp32",
        '["bf16", "fp32"]',
        "What the project runs in: what only other dtypes break is not reported.",
    ),
    "unsafe-fixes": (
        "true or false",
        "true",
        "`--fix` and `--diff` also make [unsafe fixes](fixing.md), without being told.",
    ),
    "verify": (
        "true or false",
        "true",
        "[Verify](verifying.md) norms in every run but `--report`, where PyTorch is installed; "
        "`--no-verify` leaves it out.",
    ),
    "extend-safe-fixes": (LIST, '["NRM302"]', "Rules whose unsafe fixes are safe here."),
    "extend-unsafe-fixes": (LIST, '["NRM203"]', "Rules whose safe fixes are unsafe here."),
    "per-file-ignores": (
        "table of lists of codes, by pattern",
        '{ "tests/*" = ["NRM503"] }',
        "Rules that keep quiet in the files that a pattern fits.",
    ),
    "exclude": ("list of patterns", '["third_party"]', "What is not looked at, instead of the default."),
    "extend-exclude": ("list of patterns", '["third_party"]', "What is not looked at, besides `exclude`."),
    "respect-gitignore": ("true or false", "false", "Leave out what `.gitignore` names."),
    "force-exclude": (
        "true or false",
        "true",
        "Exclude files that are named on the command line, too, as pre-commit names them.",
    ),
    "output-format": ("one of " + ", ".join(FORMATS), '"concise"', "How findings are shown."),
    "cache-dir": (
        "name of a directory",
        '".cache/normlint"',
        "Where to remember what was found; relative to the file.",
    ),
}


def settings() -> str:
    """A section for each key of `[tool.normlint]`."""
    return "\n".join(line for key in _KEYS for line in _setting(key))


def _setting(key: str) -> Iterator[str]:
    kind, example, said = ABOUT[key]
    yield from (f"### `{key}`", "", said, "", f"- *Type:* {kind}", f"- *Default:* {_default(key)}", "")
    yield from ("```toml", "[tool.normlint]", f"{key} = {example}", "```", "")


def _default(key: str) -> str:
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
