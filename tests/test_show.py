"""Samples to look at: pages, and the command `infeed show`."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import photo
from shown import Page, seen_in, stored

import infeed
from infeed import transforms as T
from infeed.pipeline.sights import Sight

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


def test_no_pillow_is_needed(tmp_path):
    code = """
        import sys
        sys.modules["PIL"] = sys.modules["torch"] = None
        import numpy as np, infeed
        x = np.zeros((4, 20, 30, 3), np.uint8)
        pipe = infeed.arrays(x=x, images=["x"]).batch(2)
        infeed.show.html(pipe, sys.argv[1] + "/a.html")
        infeed.show.grid(pipe, sys.argv[1] + "/a.png")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], check=True)
    assert seen_in(tmp_path / "a.png").shape == (2 * (140 + 4) + 4, 2 * (210 + 4) + 4, 3)


def test_structure_of_a_page(tmp_path):
    pipe = stored(tmp_path).batch(2)
    infeed.show.html(pipe, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    page = Page(text)
    assert text.startswith("<!doctype html>") and 'name="viewport"' in text and "http" not in text
    assert page.tags.count("table") == 1 and len(page.rows) == 1 + 3
    assert page.rows[0] == [
        "",
        "image.pnglist of uint8 3 x [40, 60, 3]",
        "mask.pnglist of uint8 3 x [40, 60]",
        "boxes.jsonlist of float32 3 x [2, 4]",
        "points.jsonlist of float32 3 x [2, 2, 3]",
        "t.txttext 3",
    ]
    assert page.rows[2][0] == "1k1" and page.rows[2][-1] == "words 1" and page.rows[2].count("image") == 2
    shown = Page(pipe._repr_html_())
    assert shown.tags.count("table") == 2 and len(shown.images) == 6 and "3 rows" in pipe._repr_html_()
    assert shown.rows[0] == ["field", "kind", "type", "shape"]


def test_nothing_of_a_caption_runs(tmp_path):
    rows = [{EVIL: EVIL, "list": [EVIL, EVIL], "json": {EVIL: EVIL}, "bytes": EVIL.encode(), "none": None}] * 2
    batch = infeed.wrap(rows).batch(2).peek(2)
    tar = tmp_path / "<b>0.tar"
    with infeed.ShardWriter(str(tmp_path / "<b>%d.tar")) as out:
        out.write({"__key__": "<i>k", "txt": EVIL})
    pipe = infeed.open(str(tar)).decode(txt="text")
    infeed.show.html(pipe, tmp_path / "evil.html")
    evil_array = infeed.Batch({EVIL: np.array([EVIL, EVIL]), "x": np.zeros((2, 16, 16, 3), np.uint8)})
    evil_array["<u>"] = np.zeros((2, 16, 16, 3), np.uint8)
    broken = infeed.open("<script>missing</script>.tar")
    parts = [batch, rows[0], pipe, pipe[0], pipe.fields, pipe.peek(1), evil_array, broken]
    htmls = [part._repr_html_() for part in parts if hasattr(part, "_repr_html_")]
    for text in [*htmls, (tmp_path / "evil.html").read_text()]:
        page = Page(text)
        assert {"script", "i", "u", "iframe"}.isdisjoint(page.tags), page.tags
        assert not any(name.startswith("on") for name in page.attributes)
        assert page.tags.count("b") <= 2 and "<script>" not in text
        assert all(set(given) == {"src", "width", "height", "alt", "title"} for given, _ in page.images)
    assert EVIL in Page(batch._repr_html_()).rows[1], "the text is there, as text"


def test_texts_of_the_world(tmp_path):
    words = [
        "\u65e5\u672c\u3000\u8a9e",
        "a\u200db",
        "\u202etxt.exe",
        "\ud800",
        "a\x00\x1b[31m",
        "line\nline\ttab",
        "\U0001f600",
    ]
    batch = infeed.Batch(t=words)
    infeed.show.html(batch, tmp_path / "a.html")
    shown = [row[1] for row in Page((tmp_path / "a.html").read_text("utf-8")).rows[1:]]
    assert shown == [words[0], words[1], "\ufffdtxt.exe", "\ufffd", "a\ufffd\ufffd[31m", words[5], words[6]]


def test_a_batch_that_cannot_be_taken_apart_is_shown_in_words(shards):
    batch = infeed.open(shards).decode(cls="int").peek(4)
    batch["x"], batch["x_offsets"] = np.arange(3), np.array([0, 3])
    assert "<pre>Batch of 4" in batch._repr_html_()


def test_pages_are_bounded():
    rng = np.random.default_rng(0)
    many = infeed.Batch(x=rng.integers(0, 256, (300, 200, 500, 3), dtype=np.uint8), t=["word " * 10**5] * 300)
    text = many._repr_html_()
    page = Page(text)
    assert len(page.images) == 16 == len(page.rows) - 1 and "284 more samples" in text
    assert all(pixels.shape == (51, 128, 3) for _, pixels in page.images) and len(text) < 16 * 32_000
    assert all(len(row[2]) <= 200 for row in page.rows[1:])
    wide = infeed.Batch({f"f{i}": np.zeros(3) for i in range(500)})
    assert len(Page(wide._repr_html_()).rows[0]) == 33 and "468 more fields" in wide._repr_html_()
    tiny = infeed.Batch(x=np.zeros((1, 8, 8, 1), np.uint8))
    assert Page(tiny._repr_html_()).images[0][1].shape == (128, 128, 3)


def test_every_kind_of_value():
    batch = infeed.Batch(
        image=[photo(20, 30, 0), None],
        ragged=[np.arange(3), np.arange(5.0)],
        text=["a", None],
        label=np.array([3, 4]),
        vector=np.zeros((2, 100), np.float32),
        json=[{"a": [1, 2]}, None],
        raw=[b"abc", b""],
        flat=np.arange(5),
        flat_offsets=np.array([0, 2, 5]),
        boxes=np.array([[[1, 1, 9, 9], [0, 0, 0, 0]]] * 2, np.float32),
        boxes_mask=np.array([[True, False]] * 2),
        whole=7,
        nested={"y": np.array([1, 2])},
    )
    batch._sights = {"image": Sight("image"), "boxes": Sight("boxes")}
    page = Page(batch._repr_html_())
    names = [re.sub(r"(list|text|bytes|dict|int|float|bool|uint)[\w /]* ?.*", "", cell) for cell in page.rows[0]]
    assert "flat_offsets" not in names and "whole" not in names and "whole: " in batch._repr_html_()
    first, second = page.rows[1:]
    assert first[1] == "image" and second[1] == "None" and first[2] == "0, 1, 2" and second[2] == "0, 1, 2, 3, 4"
    assert first[3] == "a" and second[3] == "None" and (first[4], second[4]) == ("3", "4")
    assert first[5] == "float32[100] 0" and "'a': [1, 2]" in first[6] and first[7] == "bytes 3 bytes"
    assert first[8] == "0, 1" and second[8] == "2, 3, 4"
    assert first[9] == "float32[1, 4] 1..9", "padding is no box"


@pytest.mark.parametrize(
    "batch",
    [
        infeed.Batch(),
        infeed.Batch(x=np.zeros((0, 8, 8, 3), np.uint8), t=[]),
        infeed.Batch(x=[None, None], boxes=[None, None]),
        infeed.Batch(x=np.zeros((2, 0, 8, 3), np.uint8), boxes=np.zeros((2, 0, 4))),
        infeed.Batch(
            boxes=np.full((2, 3, 4), np.nan), keypoints=np.full((2, 1, 1, 3), np.inf), x=np.zeros((2, 9, 9, 3))
        ),
        infeed.Batch(boxes=[np.zeros((3, 5)), "?"], mask=[np.zeros(3), 3], masks=np.zeros((2, 0, 9, 9))),
        infeed.Batch({3: np.zeros(2), None: [1, 2]}),
    ],
    ids=["empty", "no samples", "nones", "no pixels", "not finite", "wrong shapes", "odd names"],
)
def test_odd_batches_are_shown(batch):
    batch._sights = {"x": Sight("image"), "boxes": Sight("boxes"), "mask": Sight("mask"), "masks": Sight("masks")}
    assert repr(batch).startswith("Batch of") and "<table>" in batch._repr_html_()


def test_displaying_a_pipeline_runs_no_code_of_the_user(shards):
    def fail(sample):
        raise AssertionError("a display ran it")

    called = infeed.open(shards).decode(jpg="rgb").map(fail)
    assert "peek()" in called._repr_html_() and Page(called._repr_html_()).images == []

    def rows():
        read.append(1)
        yield {"x": 1}

    read = []
    shown = infeed.stream(rows)
    planned = len(shown.fields and read)
    assert "a stream" in shown._repr_html_() and len(read) == planned
    missing = infeed.open("nowhere/at/all.tar")._repr_html_()
    assert "FileNotFoundError" in missing and "nowhere" in missing


def test_tuples_and_tensors(tmp_path, shards):
    torch = pytest.importorskip("torch")
    pipe = infeed.open(shards).decode(jpg="rgb", cls="int").map(T.Resize((32, 32)), on="jpg").batch(4)
    grey = Page(pipe.peek(4)._repr_html_()).images
    turned = Page(next(iter(pipe.to_torch()))._repr_html_()).images
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(grey, turned, strict=True))
    pair = pipe.to_tuple("jpg", "cls")
    for number, thing in enumerate(
        [pair, next(iter(pair.to_torch())), pair.to_torch(), pipe.to_numpy(), pair.peek(4)]
    ):
        infeed.show.html(thing, tmp_path / f"{number}.html")
        assert len(Page((tmp_path / f"{number}.html").read_text()).images) in (4, 16)
    normal = pipe.map_batch(lambda b: {**b, "jpg": torch.as_tensor(b["jpg"], dtype=torch.float16) / 255 - 0.5})
    assert len(Page(normal.peek(2)._repr_html_()).images) == 2
    with pytest.raises(TypeError, match="pipeline, a loader, a batch or a sample, got int"):
        infeed.show.html(3, tmp_path / "3.html")


def test_command(tmp_path, shards, capsys):
    show = infeed.show.command
    assert show([shards, "--rows", "3"]) == 0
    assert capsys.readouterr().out.startswith("Batch of 3\n  cls  int64")
    assert show([shards, "-o", str(tmp_path / "a.png")]) == 0 and seen_in(tmp_path / "a.png").shape[1] > 400
    assert show([shards, "-o", str(tmp_path / "a.html"), "--rows", "5", "--seed", "3"]) == 0
    keys = [row[0] for row in Page((tmp_path / "a.html").read_text()).rows[1:]]
    order = infeed.open(shards).shuffle(seed=3).order(0, 0, 5)
    assert keys == [f"{at}s{row:05d}" for at, row in enumerate(order)]
    capsys.readouterr()
    for wrong in (["--rows", "0"], ["-o", "a.gif"], ["--seed", "-1"], ["-o", "a.html", "--rows", "17"], ["--what"]):
        assert show([shards, *wrong]) == 2
    assert show([str(tmp_path / "none.tar")]) == 1 and "none.tar" in capsys.readouterr().err
    assert show(["--help"]) == 0 and "infeed show" in capsys.readouterr().out


def test_the_program_has_the_command(tmp_path, shards):
    run = [sys.executable, "-m", "infeed", "show"]
    subprocess.run([*run, shards, "-o", str(tmp_path / "a.png"), "--rows", "2"], check=True, capture_output=True)
    assert seen_in(tmp_path / "a.png").any()
    assert subprocess.run([*run, str(tmp_path / "none.tar")], capture_output=True).returncode == 1
    code = "import sys; sys.argv = ['infeed', '--version']\nimport infeed.__main__ as m\n"
    code += "try: m.main()\nexcept SystemExit: pass\nassert 'numpy' not in sys.modules, 'other commands stay fast'"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
