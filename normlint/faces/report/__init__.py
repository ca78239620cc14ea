"""Build HTML from elements, with all text escaped, so that no file name or code becomes markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from normlint.faces.render import harmless

_VOID: Final = frozenset("br col hr img input link meta".split())


class Html(str):
    """Text that is markup and isn't escaped again."""

    __slots__ = ()


Content = str | Iterable[str] | None


def element(name: str, /, *content: Content, **attributes: str | float | bool | None) -> Html:
    """Return `<name …>content</name>`; attribute `class_` is class, `data_x` is data-x, None and False are left out."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(*content)}</{name}>")


def join(*content: Content) -> Html:
    """Return the pieces of content as one piece of HTML."""
    return Html("".join(_piece(one) for one in content))


def text(value: str) -> Html:
    """Return the text escaped, with control characters made visible."""
    return Html(escape(harmless(value)))


def _piece(one: Content) -> str:
    if one is None:
        return ""
    if isinstance(one, Html):
        return one
    return text(one) if isinstance(one, str) else join(*one)


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(value if isinstance(value, str) else format(value, "g"))}"'
