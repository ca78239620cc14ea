"""The keys of the configuration, as people read about them: `normlint config` and the documentation."""

from __future__ import annotations

import json
import re
from typing import Final

from normlint.engine.config import _KEYS, known_key
from normlint.engine.settings import ConfigError, Settings

ABOUT: Final = {  # key: (example, what it does); a test holds that no key is missing
    "select": ('["NRM1", "missing-eps"]', "The rules that speak, instead of those that are on by default."),
    "ignore": ('["NRM503"]', "Rules that keep quiet."),
    "extend-select": ('["NRM601"]', "Rules that speak besides the others."),
    "dtypes": ('["bf16", "fp32"]', "What the project runs in: what only other dtypes break is not reported."),
    "min-severity": ('"review"', "The lowest [severity](#severity) that is reported."),
    "fail-on": ('"error"', "The lowest severity at which the exit status is 1."),
    "unsafe-fixes": ("true", "`--fix` and `--diff` also make [unsafe fixes](fixing.md), without `--unsafe-fixes`."),
    "verify": ("true", "[Verify](verifying.md) norms wherever PyTorch is installed; `--no-verify` leaves it out."),
    "extend-safe-fixes": ('["NRM302"]', "Rules whose unsafe fixes are safe here."),
    "extend-unsafe-fixes": ('["NRM203"]', "Rules whose safe fixes are unsafe here."),
    "per-file-ignores": ('{ "tests/*" = ["NRM503"] }', "Rules that keep quiet in the files that a pattern fits."),
    "exclude": ('["third_party"]', "What is not looked at, instead of the default."),
    "extend-exclude": ('["third_party"]', "What is not looked at, besides `exclude`."),
    "respect-gitignore": ("false", "Leave out what `.gitignore` names."),
    "force-exclude": ("true", "Exclude files that are named on the command line, too, as pre-commit names them."),
    "output-format": ('"concise"', "How findings are shown."),
    "cache-dir": ('".cache/normlint"', "Where to remember what was found; relative to the file."),
}


def keys_text(keys: list[str]) -> str:
    """A line for each key, or all that is known of the keys that are named."""
    if not keys:
        return "".join(f"{key:{max(map(len, ABOUT))}}  {plain(about)}\n" for key, (_, about) in ABOUT.items())
    return "\n".join(map(_key_text, keys))


def _key_text(key: str) -> str:
    example, about = ABOUT[known_key(key)]
    default = plain(default_of(key))
    return f"{plain(about)}\n\nType: {kind_of(key)}\nDefault: {default}\nExample: {key} = {example}\n"


def kind_of(key: str) -> str:
    """What a value has to be, as its reader says of one that isn't."""
    try:
        return str(_KEYS[key](None, ""))
    except ConfigError as error:
        return str(error).removeprefix(" must be ")


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
