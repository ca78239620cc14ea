"""HTML that is made of elements: text is escaped wherever it is put, so that no file's name or code becomes markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from normlint.faces.render import harmless

_VOID: Final = frozenset("br col hr img input link meta".split())


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Content = str | Iterable[str] | None


def element(name: str, /, *content: Content, **attributes: str | float | bool | None) -> Html:
    """`<name …>content</name>`. Of attributes, `class_` is class, `data_x` is data-x; None and False leave one out."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(*content)}</{name}>")


def join(*content: Content) -> Html:
    """Pieces of content one after the other."""
    return Html("".join(_piece(one) for one in content))


def text(value: str) -> Html:
    """Text as it is shown: escaped, with control characters made visible."""
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
