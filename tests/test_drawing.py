"""Pictures of samples: images of every layout and type, and what is drawn on them."""

from __future__ import annotations

import io

import numpy as np
import pytest
from annotation_sets import write_yolo
from PIL import Image
from shown import Page, scenes, seen_in, stored

import infeed
from infeed import decoders as D
from infeed import transforms as T
from infeed.pipeline.sights import Sight
from infeed.show.draw import colour, corners, draw
from infeed.show.pixels import Picture, picture
from infeed.show.png import png
from infeed.show.samples import view_of


def test_png_is_a_png():
    rng = np.random.default_rng(0)
    for shape in ((1, 1, 3), (7, 5, 3), (300, 2, 3)):
        pixels = rng.integers(0, 256, shape, dtype=np.uint8)
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(png(pixels)))), pixels)


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
