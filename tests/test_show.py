"""Samples to look at: pages, grids, what is drawn on images, and the command `infeed show`."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from annotation_sets import write_yolo
from conftest import encode, photo
from PIL import Image

import infeed
from infeed import decoders as D
from infeed import transforms as T
from infeed.pipeline.sights import Sight
from infeed.show.draw import colour, corners, draw
from infeed.show.pixels import Picture, picture
from infeed.show.png import png
from infeed.show.samples import view_of

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Page(HTMLParser):
    """What a browser would make of a page: its tags, the text of its cells, its images."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.images: list[tuple[dict[str, str], np.ndarray]] = []
        self.attributes: set[str] = set()
        self._open = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open = tag in ("td", "th") or (self._open and tag in ("br", "small"))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "img":
            given = dict(attrs)
            head, data = given["src"].split(",")
            assert head == "data:image/png;base64"
            self.images.append((given, np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))))
            self.rows[-1][-1] += "image"

    def handle_endtag(self, tag):
        self._open = self._open and tag not in ("td", "th")

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1] += data


def seen_in(path: Path) -> np.ndarray:
    """The pixels of a PNG file."""
    return np.asarray(Image.open(io.BytesIO(path.read_bytes())))


def scenes(count=3, height=40, width=60):
    """Images with a box, a mask, instance masks and keypoints at known places."""
    rng = np.random.default_rng(0)
    image = np.full((height, width, 3), 100, np.uint8)
    mask = np.zeros((height, width), np.uint8)
    mask[10:20, 30:50] = 3
    things = np.zeros((2, height, width), np.uint8)
    things[0, :5, :5] = 1
    things[1, 30:, 50:] = 1
    boxes = np.array([[10, 5, 25, 35], [30, 10, 50, 20]], np.float32)
    points = np.array([[[5, 6, 2], [50, 30, 0]], [[0, 0, 0], [0, 0, 0]]], np.float32)
    return [
        {"image": image, "mask": mask, "masks": things, "boxes": boxes, "keypoints": points, "n": rng.integers(9)}
        for _ in range(count)
    ]


def stored(folder: Path, count: int = 3) -> infeed.Pipeline:
    with infeed.ShardWriter(folder / "a-%d.tar") as out:
        for i, s in enumerate(scenes(count)):
            fields = {"image.png": encode(s["image"], "PNG"), "mask.png": encode(s["mask"], "PNG")}
            notes = {"boxes.json": s["boxes"].tolist(), "points.json": s["keypoints"].tolist()}
            out.write({"__key__": f"k{i}", **fields, **notes, "t.txt": f"words {i}"})
    decoders = {"image.png": "rgb", "mask.png": "mask", "boxes.json": D.boxes(along=[]), "t.txt": "text"}
    return infeed.open(str(folder / "*.tar")).decode(**decoders, **{"points.json": D.keypoints(points=2)})


def test_png_is_a_png():
    rng = np.random.default_rng(0)
    for shape in ((1, 1, 3), (7, 5, 3), (300, 2, 3)):
        pixels = rng.integers(0, 256, shape, dtype=np.uint8)
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(png(pixels)))), pixels)


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


@pytest.mark.parametrize(
    ("image", "low", "high"),
    [
        (np.array([[0, 255]], np.uint8)[..., None].repeat(3, -1), 0, 255),
        (np.array([[0, 0.5]], np.float32), 0, 128),
        (np.array([[-2.0, 2.5]], np.float32)[None].repeat(3, 0), 0, 255),
        (np.array([[0, 60000]], np.uint16), 0, 255),
        (np.array([[False, True]]), 0, 255),
        (np.array([[10.0, 200.0]]), 10, 200),
        (np.array([[np.nan, 1.0]]), 0, 255),
        (np.array([[-7.0, -7.0]]), 128, 128),
    ],
    ids=["u8", "float", "normalised", "u16", "bool", "float255", "nan", "flat"],
)
def test_values_of_pictures(image, low, high):
    made = picture(image, 2)
    assert made is not None and made.pixels.shape == (1, 2, 3) and (made.height, made.width) == (1, 2)
    assert (made.pixels[0, 0] == low).all() and (made.pixels[0, 1] == high).all()


@pytest.mark.parametrize("axes", ["hw", "hwc", "chw"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_layouts_of_pictures(axes, channels):
    image = np.zeros((30, 50, channels), np.uint8)
    image[:, 25:] = 255
    given = {"hw": image[..., 0], "hwc": image, "chw": np.moveaxis(image, -1, 0)}[axes]
    made = picture(given, 128)
    assert made.pixels.shape == (60, 100, 3) and (made.pixels[:, 50:] == 255).all()
    # What is transparent is white.
    assert (made.pixels[:, :50] == (255 if channels == 4 and axes != "hw" else 0)).all()


def test_large_pictures_are_averaged_and_no_image_is_none():
    stripes = np.zeros((400, 4000, 3), np.uint8)
    stripes[:, ::2] = 200
    made = picture(stripes, 100)
    assert made.pixels.shape == (10, 100, 3) and made.width == 4000
    checks = np.indices((200, 200)).sum(0) % 2 * np.uint8(200)
    assert (picture(checks, 100).pixels == 100).all()
    for nothing in (None, "text", np.zeros((0, 5, 3)), np.zeros(5), np.zeros((40, 40, 40)), np.zeros((3, 4), "U2")):
        assert picture(nothing, 100) is None


def test_boxes_are_drawn_at_their_pixels(tmp_path):
    """The first line of a box is on its first pixels, the last one on its last: 60 x 40 is shown twice as large."""
    sample = stored(tmp_path).to_numpy().pipeline[0]
    page = Page(sample._repr_html_())
    (attributes, seen), (_, mask) = page.images
    assert seen.shape == (80, 120, 3) and (attributes["width"], attributes["height"]) == ("120", "80")
    first, second = colour(0), colour(1)
    edges = np.zeros((80, 120), bool)
    edges[10:70, 20:50] = True
    edges[11:69, 21:49] = False
    assert (seen[edges] == first).all()
    assert (seen[20, 60:100] == second).all() and (seen[39, 60:100] == second).all()
    assert (seen[20:40, 60] == second).all() and (seen[20:40, 99] == second).all()
    # The class 3 of the mask covers half of the grey; elsewhere there is nothing but the image.
    inside = np.rint(100 * 0.45 + np.array(colour(2)) * 0.55)
    assert (seen[25:35, 65:95] == inside).all() and (mask[20:40, 60:100] == colour(2)).all()
    assert (mask[:20] == 0).all() and (seen[75:, 110:] == 100).all()
    # The first point is visible, and lies on nothing else; the second was not labelled.
    assert (seen[11:14, 9:12] == first).all() and (seen[60, 100] == 100).all()


def test_instance_masks_have_distinct_colours():
    on = Picture(np.zeros((40, 60, 3), np.uint8), 40, 60)
    draw(on, Sight("masks"), scenes()[0]["masks"], cover=1)
    assert (on.pixels[0, 0] == colour(0)).all() and (on.pixels[39, 59] == colour(1)).all()
    colours = np.array([colour(i) for i in range(24)], float)
    apart = np.abs(colours[:, None] - colours[None]).sum(-1) + 1000 * np.eye(24)
    assert apart.min() > 20, "colours of different things differ"
    void = Picture(np.zeros((1, 2, 3), np.uint8), 1, 2)
    draw(void, Sight("mask"), np.array([[0, 255]], np.uint8), cover=1)
    assert len(set(void.pixels[0, 1].tolist())) == 1, "what is ignored is grey"


@pytest.mark.parametrize(
    ("sight", "boxes"),
    [
        (Sight("boxes", "xyxy", False), [[10, 5, 25, 35]]),
        (Sight("boxes", "xywh", False), [[10, 5, 15, 30]]),
        (Sight("boxes", "cxcywh", False), [[17.5, 20, 15, 30]]),
        (Sight("boxes", "cxcywh", True), [[17.5 / 60, 0.5, 0.25, 0.75]]),
        (Sight("boxes", "xyxy", True), [[10 / 60, 5 / 40, 25 / 60, 35 / 40]]),
        (Sight("boxes"), [[10, 5, 25, 35]]),
        (Sight("boxes"), [[17.5 / 60, 0.5, 0.25, 0.75]]),
    ],
)
def test_forms_of_boxes(sight, boxes):
    assert np.allclose(corners(sight, np.array(boxes), 40, 60), [[10, 5, 25, 35]])


def test_forms_are_those_of_the_pipeline(tmp_path):
    base = infeed.open(str(tmp_path / "*.tar"))
    stored(tmp_path)
    for to, relative in (("xyxy", False), ("cxcywh", True), ("xywh", False)):
        boxes = D.boxes(to=to, to_relative=relative, along=[])
        pipe = base.decode(**{"image.png": "rgb", "boxes.json": boxes}).map(T.RandomHorizontalFlip(1.0))
        view = view_of(pipe.batch(2, ragged={"boxes.json": "flat"}), 2)
        sight = view.sights["boxes.json"]
        assert (sight.form, sight.relative) == (to, relative)
        assert np.allclose(corners(sight, view.samples[1]["boxes.json"], 40, 60)[0], [35, 5, 50, 35], atol=1e-3)
    (tmp_path / "yolo").mkdir()
    write_yolo(tmp_path / "yolo")
    yolo = infeed.yolo(str(tmp_path / "yolo"), split="train").decode(image="rgb")
    assert view_of(yolo, 1).sights["boxes"][1:3] == ("cxcywh", True)


def test_targets_lie_in_their_image():
    """Views have targets of their own, by their endings; a target can name its image."""
    image = np.zeros((2, 16, 16, 3), np.uint8)
    boxes = np.array([[[2, 2, 8, 8]]] * 2, np.float32)
    batch = infeed.Batch(view_0=image, view_1=image, boxes_1=boxes)
    plain, drawn = (pixels for _, pixels in Page(batch._repr_html_()).images[:2])
    assert not plain.any() and drawn.any()
    batch = infeed.Batch(left=image, right=image, boxes=boxes)
    batch._sights = {"left": Sight("image"), "right": Sight("image"), "boxes": Sight("boxes", image="right")}
    plain, drawn = (pixels for _, pixels in Page(batch._repr_html_()).images[:2])
    assert not plain.any() and drawn.any()


def test_structure_of_a_page(tmp_path):
    pipe = stored(tmp_path).batch(2)
    infeed.show.html(pipe, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    page = Page(text)
    assert text.startswith("<!doctype html>") and 'name="viewport"' in text and "http" not in text
    assert page.tags.count("table") == 1 and len(page.rows) == 1 + 3
    assert page.rows[0] == [
        "",
        "boxes.jsonlist of float32 3 x [2, 4]",
        "image.pnglist of uint8 3 x [40, 60, 3]",
        "mask.pnglist of uint8 3 x [40, 60]",
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


def test_grid(tmp_path):
    pipe = stored(tmp_path, 5).batch(2)
    infeed.show.grid(pipe, tmp_path / "grid.png", side=60)
    seen = seen_in(tmp_path / "grid.png")
    assert seen.shape == (2 * 44 + 4, 3 * 64 + 4, 3)
    assert (seen[4 + 5, 4 + 10 : 4 + 25] == colour(0)).all() and (seen[:4] == 255).all()
    assert np.array_equal(seen[4:44, 4:64], seen[48:88, 68:128]) and (seen[48:88, 132:192] == 255).all()
    infeed.show.grid(pipe, tmp_path / "row.png", side=60, rows=2, columns=2)
    assert seen_in(tmp_path / "row.png").shape == (48, 2 * 64 + 4, 3)
    infeed.show.grid(pipe.peek(1), tmp_path / "one.png", side=60)
    infeed.show.grid(pipe[0], tmp_path / "sample.png", side=60)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "sample.png").read_bytes()
    with pytest.raises(ValueError, match=r'the fields are x.*decode\("auto"\)'):
        infeed.show.grid(infeed.arrays(x=np.arange(3)), tmp_path / "no.png")
    with pytest.raises(ValueError, match="side"):
        infeed.show.grid(pipe, tmp_path / "no.png", side=0)
    assert not (tmp_path / "no.png").exists()


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
