"""``infeed inspect --html``: a data set on one page, with its first samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .facts import Facts
from .page import FIELDS, TEXT, cell_words, plain
from .pictures import picture_of
from .png import data_uri
from .samples import View, view_of
from .values import as_array, is_array, shape_of

#: Pixels of the longer side of a picture, the lines below it, and the labels that are written out.
_SIDE, _LINES, _LABELS = 224, 6, 8
#: More samples than a command asks for.
_MOST = 1 << 30
_PICTURES = ("image", "mask", "masks")
_NUMBERS = ("rows", "in rows", "min", "mean", "max")

_STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1c2024;--dim:#60646c;--line:#d9d9e0;--card:#f7f7f9}
@media (prefers-color-scheme:dark){:root{--back:#111113;--text:#edeef0;--dim:#a0a4ad;--line:#363a3f;--card:#1b1b1f}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.35rem;margin:0 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:2rem 0 .6rem}
p{margin:.4rem 0}.note,.dim{color:var(--dim)}.bad{color:#c62a2f}
@media (prefers-color-scheme:dark){.bad{color:#ff9592}}
dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:0}
dl.facts dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.3rem .9rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);max-width:26rem;
overflow-wrap:break-word}
th{color:var(--dim);font-weight:500;white-space:nowrap}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td:first-child{font-weight:600}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,13rem),1fr));gap:.8rem}
.cards figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;overflow:hidden}
.cards img{display:block;width:100%;height:auto}
.cards img+img{border-top:1px solid var(--line)}
.cards figcaption{padding:.5rem .65rem .6rem;font-size:.8rem;line-height:1.4}
.cards b{display:block;overflow-wrap:anywhere}
.cards div{overflow-wrap:anywhere;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
@media (max-width:30rem){.cards{grid-template-columns:repeat(2,minmax(0,1fr));gap:.5rem}body{font-size:14px}
.cards figcaption{font-size:.72rem;padding:.4rem}
table,tbody,tr{display:block}tr:first-child{display:none}tr{padding:.5rem 0;border-bottom:1px solid var(--line)}
td{display:block;border:0;padding:0;text-align:left!important;overflow-wrap:anywhere}td:empty{display:none}
td+td::before{content:attr(data-of) " ";color:var(--dim)}
td+td{display:inline-block;margin-right:.8rem;max-width:100%}}
"""


def report(title: str, facts: Facts, samples: Any, names: Sequence[str] = ()) -> str:
    """The page. ``samples`` is a batch, or the error that kept it from being made; ``names`` are those of the classes."""
    return "".join(_page(title, facts, samples, names))


def _page(title: str, facts: Facts, samples: Any, names: Sequence[str]) -> Iterator[str]:
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    said = plain(title, TEXT)
    yield f"<!doctype html>\n<html lang=en><head>{head}<title>{said}</title><style>{_STYLE}</style></head>\n"
    yield f"<body><main><h1>{said}</h1>\n<dl class=facts>"
    for name, value in facts.facts:
        yield f"<dt>{plain(name, TEXT)}</dt><dd>{plain(value, 2 * TEXT)}</dd>"
    yield "</dl>\n<section><h2>Fields</h2>"
    yield from _table(facts.header, facts.fields)
    if facts.note:
        yield f"<p class=bad>{plain(facts.note, 1000)}</p>"
    yield "</section>\n<section><h2>First samples</h2>"
    if isinstance(samples, Exception):
        yield f"<p class=bad>They cannot be shown. {plain(f'{type(samples).__name__}: {samples}', 1000)}</p>"
    else:
        yield from _samples(samples, names)
    yield "</section></main></body></html>\n"


def _samples(batch: Any, names: Sequence[str]) -> Iterator[str]:
    view = view_of(batch, _MOST)
    images = [name for name in view.names if view.sights[name].kind == "image"]
    # Masks without an image are worth a picture of their own.
    images = images or [name for name in view.names if view.sights[name].kind in _PICTURES]
    if not view.samples:
        yield "<p class=dim>There are none.</p>"
    elif not images:
        yield from _table(["", *map(str, view.names[:FIELDS])], _lines(view, names))
        if len(view.names) > FIELDS:
            yield f"<p class=dim>{len(view.names) - FIELDS:,} more fields are not shown.</p>"
    else:
        yield "<div class=cards>"
        for at in range(len(view.samples)):
            yield _card(view, at, images, names)
        yield "</div>"


def _lines(view: View, names: Sequence[str]) -> Iterator[list[str]]:
    for at, sample in enumerate(view.samples):
        key = view.keys[at] if view.keys else str(at)
        yield [key, *(_said(name, sample.get(name), view, names) for name in view.names[:FIELDS])]


def _table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "<div class=scroll><table><tr>"
    for word in header:
        yield f"<th{_aligned(word)}>{plain(word, TEXT)}</th>"
    yield "</tr>\n"
    for line in lines:
        yield "<tr>"
        for of, word in zip(header, line, strict=True):
            # A phone has no room for columns: each cell is shown with the name of its column.
            yield f'<td{_aligned(of)} data-of="{plain(of, TEXT)}">{plain(word, TEXT)}</td>'
        yield "</tr>\n"
    yield "</table></div>"


def _card(view: View, at: int, images: Sequence[str], names: Sequence[str]) -> str:
    sample, pictures = view.samples[at], []
    for name in images:
        made = picture_of(view, sample, name, _SIDE)
        if made is not None:
            said = f"{plain(str(name), 60)}, {made.height} x {made.width}"
            high, wide = made.pixels.shape[:2]
            src = data_uri(made.pixels)
            pictures.append(f'<img src="{src}" width={wide} height={high} alt="{said}" title="{said}">')
    # What is drawn needs no words.
    rest = [name for name in view.names if name not in images and view.sights[name].kind not in (*_PICTURES, "boxes")]
    lines = [(name, _said(name, sample.get(name), view, names)) for name in rest]
    lines = [(name, word) for name, word in lines if not view.keys or word != view.keys[at]][:_LINES]
    words = "".join(
        f"<div><span class=dim>{plain(str(name), 40)}</span> {plain(word, TEXT)}</div>" for name, word in lines
    )
    key = f"<b>{plain(view.keys[at], 60)}</b>" if view.keys else ""
    return f"<figure>{''.join(pictures)}<figcaption>{key}{words}</figcaption></figure>\n"


def _said(name: str, value: Any, view: View, names: Sequence[str]) -> str:
    """A value in words; a label by the name of its class too."""
    words = cell_words(value, view.sights[name].kind)
    if name not in ("label", "labels") or not names or not is_array(value) or len(shape_of(value)) > 1:
        return words
    numbers = as_array(value).reshape(-1)[:_LABELS]
    if numbers.dtype.kind not in "iu" or not all(0 <= number < len(names) for number in numbers):
        return words
    more = ", …" if sum(shape_of(value)) > _LABELS else ""
    return ", ".join(f"{number} {names[number]}".strip() for number in numbers) + more


def _aligned(column: str) -> str:
    return " class=n" if column in _NUMBERS else ""
