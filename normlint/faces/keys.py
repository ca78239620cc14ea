"""The keys of the configuration, as people read about them: `normlint config` and the documentation."""

from __future__ import annotations

import json
import re
from typing import Final

from normlint.engine.config import FORMATS, known_key
from normlint.engine.settings import Settings

LIST: Final = "list of codes, prefixes or names"
ABOUT: Final = {  # key: (type, example, what it does); a test holds that no key is missing
    "select": (LIST, '["NRM1", "missing-eps"]', "The rules that speak, instead of those that are on by default."),
    "ignore": (LIST, '["NRM503"]', "Rules that keep quiet."),
    "extend-select": (LIST, '["NRM601"]', "Rules that speak besides the others."),
    "dtypes": (
        "list of fp16, bf16, fp32",
        '["bf16", "fp32"]',
        "What the project runs in: what only other dtypes break is not reported.",
    ),
    "min-severity": (
        "one of error, warning, review",
        '"review"',
        "The lowest that is reported: an error is wrong in every dtype, a warning in half precision or at zero.",
    ),
    "fail-on": ("one of error, warning, review", '"error"', "The lowest severity at which the exit status is 1."),
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


def keys_text(keys: list[str]) -> str:
    """A line for each key, or all that is known of the keys that are named."""
    if not keys:
        return "".join(f"{key:{max(map(len, ABOUT))}}  {plain(said)}\n" for key, (_, _, said) in ABOUT.items())
    return "\n".join(map(_key_text, keys))


def _key_text(key: str) -> str:
    kind, example, said = ABOUT[known_key(key)]
    lines = (plain(said), "", f"Type: {kind}", f"Default: {plain(default_of(key))}", f"Example: {key} = {example}")
    return "".join(f"{line}\n" for line in lines)


def plain(text: str) -> str:
    """Markdown's links and code as text."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")


def default_of(key: str) -> str:
    """What holds where nothing is said, in words."""
    value = getattr(Settings, key.replace("-", "_"))
    if key == "per-file-ignores":
        return "nothing"
    if value is None:
        return "the rules that are on by default" if key == "select" else "`.normlint_cache`, beside the configuration"
    return f"`{json.dumps(value)}`"
