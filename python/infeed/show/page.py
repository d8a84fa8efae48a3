"""Samples as HTML: a table with one line per sample, for notebooks and for files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..reports import Fields
from .pictures import picture_of
from .png import data_uri
from .samples import View, view_of
from .values import is_array, shape_of, thinned
from .words import column, cut, number, short

#: Bounds of a page: samples, fields, pixels of a picture's longer side, characters of a text.
SAMPLES, FIELDS, SIDE, TEXT = 16, 32, 128, 200
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_PICTURES = ("image", "mask", "masks")
_WORDS = 4000
#: Arrays of so many numbers are written out.
_NUMBERS = 8

_STYLE = """
.infeed-show{font:13px/1.45 system-ui,sans-serif;max-width:100%}
.infeed-show .infeed-scroll{overflow-x:auto;max-width:100%}
.infeed-show table{border-collapse:collapse;margin:.4em 0;table-layout:auto;width:auto}
.infeed-show th,.infeed-show td{border:1px solid rgba(128,128,128,.35);padding:4px 8px;
text-align:left!important;
vertical-align:top;max-width:22em;overflow-wrap:break-word}
.infeed-show th{font-weight:600;white-space:nowrap}
.infeed-show th small,.infeed-show .infeed-dim{font-weight:400;opacity:.65}
.infeed-show td.infeed-text{min-width:16em;overflow-wrap:anywhere}
.infeed-show img{display:block;max-width:none;margin:0}
.infeed-show p{margin:.3em 0}
"""


def fragment(thing: Any, *, title: str | None = None) -> str:
    """The HTML of a pipeline, loader, batch or sample, to be put into a page."""
    return "".join(_parts(view_of(thing, SAMPLES), title))


def displayed(thing: Any) -> str:
    """The same for a notebook, where a batch that cannot be taken apart is shown in words."""
    try:
        return fragment(thing)
    except Exception:
        return framed(f"<pre>{plain(repr(thing), _WORDS)}</pre>")


def html(thing: Any, path: str | os.PathLike[str]) -> None:
    """Write a page that shows the samples of a pipeline, a loader or a batch, or one sample.

    It has at most 16 samples, with pictures of at most 128 pixels, and needs nothing from outside.
    """
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    title = cut(repr(thing), TEXT) if hasattr(thing, "peek") else None
    style = "<style>:root{color-scheme:light dark}body{margin:1em}</style>"
    body = fragment(thing, title=title)
    page = f"<!doctype html>\n<html lang=en><head>{head}<title>infeed</title>{style}</head>\n<body>{body}</body></html>\n"
    Path(path).write_text(page, encoding="utf-8")


def fields_page(fields: Fields, *more: str) -> str:
    """The fields of a batch, for a notebook. ``more`` is HTML."""
    note = f"<p class=infeed-dim>{plain(fields.note, TEXT)}</p>" if fields.note else ""
    return framed(*more[:1], table(["field", "kind", "type", "shape"], fields.table()), note, *more[1:])


def table(header: list[str], lines: list[list[str]]) -> str:
    """A table of texts, which are escaped here."""
    top = "".join(f"<th>{plain(word, TEXT)}</th>" for word in header)
    rows = "".join(f"<tr>{''.join(f'<td>{plain(word, TEXT)}</td>' for word in line)}</tr>" for line in lines)
    return f"<div class=infeed-scroll><table><tr>{top}</tr>{rows}</table></div>"


def framed(*parts: str) -> str:
    """Parts of a page with the style that they need."""
    return f"<div class=infeed-show><style>{_STYLE}</style>{''.join(parts)}</div>"


def plain(text: str, most: int) -> str:
    """A text cut short, of which nothing is markup. Control characters, and those that turn text around, are marked."""
    return escape(_HIDDEN.sub("\ufffd", cut(text, most)))


def _parts(view: View, title: str | None) -> Iterator[str]:
    # Pictures first: on a small screen they are what one sees without scrolling.
    names = sorted(view.names, key=lambda name: view.sights[name].kind not in _PICTURES)[:FIELDS]
    yield f"<div class=infeed-show><style>{_STYLE}</style>"
    if title is not None:
        yield f"<p>{plain(title, TEXT)}</p>"
    yield f"<p><b>{plain(view.title, TEXT)}</b></p><div class=infeed-scroll><table><tr><th></th>"
    for name in names:
        words = column(view.columns[name], view.sights[name].kind)
        yield f"<th>{plain(str(name), 60)}<br><small>{plain(f'{words.type} {words.shape}', 80)}</small></th>"
    yield "</tr>\n"
    for at, sample in enumerate(view.samples):
        key = f"<br><small>{plain(view.keys[at], 40)}</small>" if view.keys else ""
        yield f"<tr><th>{at}{key}</th>"
        for name in names:
            yield _cell(view, sample, name)
        yield "</tr>\n"
    yield "</table></div>"
    yield from _notes(view)
    yield "</div>"


def _notes(view: View) -> Iterator[str]:
    if len(view.samples) < view.count:
        yield f"<p class=infeed-dim>{view.count - len(view.samples):,} more samples are not shown.</p>"
    if len(view.names) > FIELDS:
        yield f"<p class=infeed-dim>{len(view.names) - FIELDS:,} more fields are not shown.</p>"
    for name, value in list(view.whole.items())[:FIELDS]:
        words = " ".join(part for part in column(value) if part)
        yield f"<p>{plain(str(name), 60)}: <span class=infeed-dim>{plain(words, TEXT)}</span></p>"


def _cell(view: View, sample: Mapping[str, Any], name: str) -> str:
    value = sample.get(name)
    try:
        made = picture_of(view, sample, name, SIDE)
    except Exception:  # a look must not fail: the words are still there
        made = None
    if made is not None:
        high, wide = made.pixels.shape[:2]
        said = f"{plain(str(name), 60)}, {made.height} x {made.width}"
        return f'<td><img src="{data_uri(made.pixels)}" width={wide} height={high} alt="{said}" title="{said}"></td>'
    if value is None:
        return "<td class=infeed-dim>None</td>"
    if isinstance(value, str):
        wide = " class=infeed-text" if len(value) > 40 else ""
        return f"<td{wide}>{plain(value, TEXT)}</td>"
    return f"<td>{plain(cell_words(value, view.sights[name].kind), TEXT)}</td>"


def cell_words(value: Any, kind: str) -> str:
    """One value of a sample in words."""
    if isinstance(value, str):
        return value
    if kind == "bytes":
        return column(value, kind).about
    if is_array(value):
        shape = shape_of(value)
        if len(shape) <= 1 and sum(shape) <= _NUMBERS and 0 not in shape:
            few, _ = thinned(value, _NUMBERS)
            if few.dtype.kind in "biufUS":
                return ", ".join(number(item) for item in few.reshape(-1))
        words = column(value)
        return f"{words.type}{words.shape} {words.about}"
    if isinstance(value, bytes | list | tuple):
        return " ".join(part for part in column(value) if part)
    if isinstance(value, bool | int | float):
        return number(value)
    return short(value)
