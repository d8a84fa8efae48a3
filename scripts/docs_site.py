"""Pages of the documentation that are made from the code, and links that lead out of docs/. A hook of mkdocs.

The reference comes from the package itself: signatures and docstrings of what it offers, and the engine's tables of
transforms and decoders. Examples and benchmarks are pages with the files of the repository in them.
"""

from __future__ import annotations

import ast
import inspect
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Files outside of docs/ that are pages of the site.
BROUGHT = {
    "CORRECTNESS.md": "reference/correctness.md",
    "benches/README.md": "reference/benchmarks.md",
    "examples/README.md": "reference/examples.md",
}
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
PLACES = {**BROUGHT, **{f"examples/{name}": f"reference/example_{name[:-3]}.md" for name in EXAMPLES}}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    for place, text in pages().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files of the repository lead to their pages; those to code become text."""
    place = page.file.src_uri
    # Where the text stands in the repository.
    home = next((source for source, target in PLACES.items() if target == place), f"docs/{place}")

    def linked(found: re.Match[str]) -> str:
        words, target = found.groups()
        target, _, anchor = target.partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found.group(0)
        source = posixpath.normpath(posixpath.join(posixpath.dirname(home), target))
        new = source.removeprefix("docs/") if source.startswith("docs/") else PLACES.get(source)
        if new is None:
            return words
        there = posixpath.relpath(new, posixpath.dirname(place) or ".")
        return f"[{words}]({there}{'#' + anchor if anchor else ''})"

    return re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)", linked, markdown)


def pages() -> dict[str, str]:
    """The pages by their place."""
    out = {target: (ROOT / source).read_text() for source, target in BROUGHT.items()}
    for name in EXAMPLES:
        code = (ROOT / "examples" / name).read_text()
        about = ast.get_docstring(ast.parse(code)) or name
        title = about.splitlines()[0].rstrip(".")
        # Search finds words of pages, not of code.
        head = "---\nsearch:\n  exclude: true\n---\n"
        out[PLACES[f"examples/{name}"]] = f"{head}# {title}\n\n`examples/{name}`\n\n````python\n{code}````\n"
    return {**out, **reference()}


def reference() -> dict[str, str]:
    """Pages of signatures and docstrings."""
    import infeed
    from infeed import decoders, errors, sources, transforms
    from infeed.doors.loader import Loader

    def all_of(module: Any, base: type) -> list[tuple[str, Any]]:
        return [
            (name, one)
            for name in module.__all__
            if inspect.isclass(one := getattr(module, name)) and one is not base
        ]

    listed = [
        (name, one) for name, one in inspect.getmembers(errors, inspect.isclass) if one.__module__ == errors.__name__
    ]
    offered = [(name, getattr(infeed, name)) for name in infeed.__all__]
    functions = [(name, one) for name, one in offered if inspect.isfunction(one) and hasattr(sources, name)]
    return {
        "reference/pipeline.md": page("Pipeline", inspect.getdoc(infeed.Pipeline), methods(infeed.Pipeline)),
        "reference/sources.md": page("Sources", "Functions that open data and give a pipeline.", functions),
        "reference/transforms.md": page(
            "Transforms", "`from infeed import transforms as T`", all_of(transforms, transforms.Transform)
        ),
        "reference/decoders.md": page(
            "Decoders", "`from infeed import decoders as D`", all_of(decoders, decoders.Decoder)
        ),
        "reference/loaders.md": page("Loaders", inspect.getdoc(Loader), methods(Loader)),
        "reference/errors.md": page("Errors", inspect.getdoc(errors), listed),
    }


def methods(cls: type) -> list[tuple[str, Any]]:
    """The public methods and properties, in the order of their names."""
    found = inspect.getmembers(cls, lambda one: inspect.isfunction(one) or isinstance(one, property))
    return [(name, one) for name, one in found if not name.startswith("_")]


def page(title: str, about: str | None, entries: Iterable[tuple[str, Any]]) -> str:
    """A page with a heading for each entry."""
    parts = [f"# {title}", as_markdown(about or "")]
    for name, one in entries:
        parts += [f"## {name}", f"```python\n{signature(name, one)}\n```", as_markdown(inspect.getdoc(one) or "")]
    return "\n\n".join(parts) + "\n"


def signature(name: str, one: Any) -> str:
    """How it is called, a line per argument where one line is not enough."""
    if isinstance(one, property):
        return name
    try:
        found = inspect.signature(one)
    except (TypeError, ValueError):
        return f"{name}(...)"
    shown = [p for p in found.parameters.values() if p.name != "self"]
    flat = plain(str(found.replace(parameters=shown)))
    if len(name) + len(flat) <= 100:
        return name + flat
    lines = ",\n    ".join(plain(str(p)) for p in shown)
    return f"{name}(\n    {lines},\n)"


def plain(text: str) -> str:
    """Types as one writes them."""
    return re.sub(r"\b(?:collections\.abc|typing|numpy\.typing|infeed(?:\.\w+)*)\.(?=[A-Z])", "", text)


def as_markdown(text: str) -> str:
    """A docstring as Markdown: roles and double quotes of reStructuredText become code."""
    text = re.sub(r":(?:class|func|meth|mod|attr|data):`~?([^`]+)`", r"`\1`", text)
    text = text.replace("``", "`")
    # Prompts, and what follows `::`, are code.
    return re.sub(r"(?m)(?:^>>> .*\n?|^\.\.\. .*\n?)+", lambda m: f"```python\n{unprompted(m.group(0))}```\n", text)


def unprompted(text: str) -> str:
    """The code of a session."""
    return re.sub(r"(?m)^(>>>|\.\.\.) ?", "", text).rstrip() + "\n"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Let search of pages that are opened as files need nothing from elsewhere."""
    return with_own_worker(output, posixpath.relpath("assets/frame-worker.js", posixpath.dirname(page.url) or "."))


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for pages of the theme."""
    return with_own_worker(output_content, "assets/frame-worker.js")


def with_own_worker(html: str, place: str) -> str:
    """The page with the script of this repository instead of one that would be fetched."""
    return re.sub(r'<script src="https://[^"]*iframe-worker[^"]*">', f'<script src="{place}">', html)
