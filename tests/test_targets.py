"""Masks, boxes and keypoints follow their image, as torchvision's do."""

from __future__ import annotations

import io
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import infeed
from infeed import decoders as D
from infeed import transforms as T

ROWS = 200


def png(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=1)
    return out.getvalue()


def scene(row: int) -> dict:
    """An image whose colours say where a pixel comes from, boxes, points, and a mask with the boxes painted in it."""
    rng = np.random.default_rng(row)
    w, h = int(rng.integers(24, 96)), int(rng.integers(24, 96))
    y, x = np.mgrid[0:h, 0:w]
    image = np.stack([x, y, (x * 7 + y * 3) % 256], -1).astype(np.uint8)
    count = int(rng.integers(1, 5))
    corner = rng.uniform(0, 0.7, (count, 2)) * (w, h)
    size = rng.uniform(0.15, 0.3, (count, 2)) * (w, h)
    boxes = np.concatenate([corner, corner + size], 1).astype(np.float32)
    mask = np.zeros((h, w), np.uint8)
    for i, (left, top, right, bottom) in enumerate(boxes.round().astype(int)):
        mask[top:bottom, left:right] = i + 1
    points = np.concatenate([rng.uniform(0, 1, (count, 3, 2)) * (w - 1, h - 1), np.full((count, 3, 1), 2.0)], -1)
    return {
        "image": image,
        "mask": mask,
        "boxes": boxes,
        "labels": np.arange(count),
        "points": points.astype(np.float32),
    }


@pytest.fixture(scope="module")
def scenes() -> list[dict]:
    return [scene(row) for row in range(ROWS)]


@pytest.fixture(scope="module")
def shard(scenes, tmp_path_factory) -> str:
    return written(scenes, tmp_path_factory.mktemp("targets"))


def written(scenes: list[dict], folder: Path) -> str:
    path = folder / "data-%03d.tar"
    with infeed.ShardWriter(path) as out:
        for row, it in enumerate(scenes):
            npy = {f"{name}.npy": it[name] for name in ("boxes", "labels", "points")}
            out.write({"__key__": f"{row:04d}", "png": png(it["image"]), "mask.png": png(it["mask"]), **npy})
    return str(path).replace("%03d", "*")


def decoded(shard: str, **boxes) -> infeed.Pipeline:
    decoders = {
        "png": D.rgb(),
        "mask.png": D.mask(),
        "boxes.npy": D.boxes(along=["labels.npy"], **{"min_size": 0.0, **boxes}),
        "labels.npy": D.npy(dtype="int64", shape=(-1,)),
        "points.npy": D.keypoints(),
    }
    return infeed.open(shard).decode(**decoders)


def samples(pipeline: infeed.Pipeline) -> list[dict]:
    with pipeline.batch(50, ragged="list").to_numpy(threads=2) as loader:
        return [{k: b[k][i] for k in b if k[0] != "_"} for b in loader for i in range(len(b["png"]))]


#: Five of each transform: a thousand images.
CASES = [
    *((T.RandomHorizontalFlip(1.0), "horizontal_flip", {}) for _ in range(5)),
    *((T.RandomVerticalFlip(1.0), "vertical_flip", {}) for _ in range(5)),
    *((T.Resize(s), "resize", {"size": s}) for s in ([40, 70], [96, 30], [17], [50], [64, 64])),
    *(
        (T.CenterCrop(s), "center_crop", {"output_size": s})
        for s in ([20, 20], [10, 60], [30, 31], [99, 120], [64, 24])
    ),
    *((T.Pad(p), "pad", {"padding": p}) for p in ([3], [1, 2], [4, 0, 9, 2], [20, 30], [0, 1, 2, 3])),
    *((T.RandomRotation([a, a]), "rotate", {"angle": a}) for a in (90.0, 180.0, 33.0, -71.5, 10.0)),
    *(
        (
            T.RandomAffine([a, a], scale=[s, s], shear=[x, x, y, y]),
            "affine",
            {"angle": a, "scale": s, "shear": [x, y], "translate": [0, 0]},
        )
        for a, s, x, y in (
            (20.0, 1.1, 5.0, 0.0),
            (-40.0, 0.7, 0.0, 12.0),
            (0.0, 1.5, -9.0, 4.0),
            (180.0, 1.0, 0.0, 0.0),
            (77.0, 0.9, 3.0, -8.0),
        )
    ),
]


@pytest.fixture(scope="module", params=range(5))
def fifth(request, tmp_path_factory) -> tuple[int, list[dict], str]:
    """A fifth of a thousand scenes: its number, the scenes, their shards."""
    scenes = [scene(row) for row in range(ROWS * request.param, ROWS * (request.param + 1))]
    return request.param, scenes, written(scenes, tmp_path_factory.mktemp("fifth"))


@pytest.mark.parametrize("number", range(0, len(CASES), 5))
def test_equal_to_torchvision(fifth, number):
    """A thousand images with 1 to 4 boxes for every transform, 200 with each of its parameters."""
    torch = pytest.importorskip("torch")
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import InterpolationMode
    from torchvision.transforms.v2 import functional as F

    part, scenes, shard = fifth
    transform, name, args = CASES[number + part]
    function = getattr(F, name)
    pipeline = decoded(shard).map(transform)
    for it, got in zip(scenes, samples(pipeline), strict=True):
        h, w = it["mask"].shape
        pil = {"interpolation": InterpolationMode.NEAREST} if name in ("resize", "rotate", "affine") else {}
        want = np.asarray(function(Image.fromarray(it["mask"]), **args, **pil))
        assert np.array_equal(got["mask.png"], want), (name, args)
        move = partial(function, **args)
        if name == "center_crop":
            # torchvision rounds the offset of boxes differently from that of the image where it pads: the image's counts.
            ch, cw = args["output_size"]
            top, left = (-((c - n) // 2) if c > n else round((n - c) / 2) for n, c in ((h, ch), (w, cw)))
            move = partial(F.crop, top=top, left=left, height=ch, width=cw)
        canvas = tv_tensors.BoundingBoxes(torch.from_numpy(it["boxes"]), format="XYXY", canvas_size=(h, w))
        moved = F.clamp_bounding_boxes(move(canvas))
        kept = [i for i, (left, top, right, bottom) in enumerate(moved.numpy()) if right > left and bottom > top]
        np.testing.assert_allclose(got["boxes.npy"], moved.numpy()[kept], atol=2e-3, err_msg=f"{name} {args}")
        assert got["labels.npy"].tolist() == [int(it["labels"][i]) for i in kept]
        points = tv_tensors.KeyPoints(torch.from_numpy(it["points"][..., :2].copy()), canvas_size=(h, w))
        moved = move(points)
        inside = torch.logical_and(moved >= 0, moved < torch.tensor(moved.canvas_size[::-1])).all(-1).numpy()
        want = np.where(inside[..., None], np.concatenate([moved.numpy(), it["points"][..., 2:]], -1), 0)
        # A point on the very edge may be in or out by rounding.
        edge = np.abs(moved.numpy() - np.array(moved.canvas_size[::-1])).min(-1) < 1e-3
        edge |= np.abs(moved.numpy()).min(-1) < 1e-3
        near, want = ~edge[kept], want[kept]
        np.testing.assert_allclose(got["points.npy"][near], want[near], atol=5e-3, err_msg=f"{name} {args}")


RANDOM = [
    T.RandomCrop(24),
    T.RandomCrop([40, 30], pad_if_needed=True),
    T.RandomResizedCrop([48, 64], scale=(0.3, 1.0)),
    T.RandomRotation(25, expand=True),
    T.RandomAffine(30, translate=(0.2, 0.2), scale=(0.8, 1.3), shear=10),
    T.RandomPerspective(0.4, p=1.0),
    T.RandomHorizontalFlip(),
    T.RandomApply([T.RandomRotation(25), T.RandomHorizontalFlip()], p=0.6),
    T.RandomIoUCrop(),
    T.RandomZoomOut(side_range=(1.0, 2.0), p=0.8),
    T.ScaleJitter(64, scale_range=(0.6, 1.4)),
    T.RandomShortestSize([30, 45, 60], max_size=90),
]


@pytest.mark.parametrize("transform", RANDOM, ids=lambda t: t.name)
def test_all_go_to_the_same_place(shard, scenes, transform):
    """For 1,000 random choices: boxes surround the pixels that were painted for them."""
    seen = 0
    for seed in range(5):
        pipeline = decoded(shard).seed(seed).map(transform)
        for it, got in zip(scenes, samples(pipeline), strict=True):
            mask, image = got["mask.png"], got["png"]
            assert mask.shape == image.shape[:2] and set(np.unique(mask)) <= set(np.unique(it["mask"])) | {0}
            h, w = mask.shape
            for label, (left, top, right, bottom) in zip(got["labels.npy"], got["boxes.npy"], strict=True):
                assert 0 <= left <= right <= w and 0 <= top <= bottom <= h
                ys, xs = np.nonzero(mask == label + 1)
                if len(xs) < 12:
                    continue  # Painted over by another box, or hardly visible.
                seen += 1
                grow = max(w / it["mask"].shape[1], h / it["mask"].shape[0], 1)
                slack = 2.0 * grow
                assert xs.min() >= left - slack and xs.max() + 1 <= right + slack, transform
                assert ys.min() >= top - slack and ys.max() + 1 <= bottom + slack, transform
    assert seen > 500


def test_crops_are_those_of_the_image(shard, scenes):
    """The pixels of the image hold their own coordinates, so the corner of the crop is known exactly."""
    for seed in range(5):
        for it, got in zip(scenes, samples(decoded(shard).seed(seed).map(T.RandomCrop(24))), strict=True):
            left, top = (int(n) for n in got["png"][0, 0, :2])
            moved = np.clip(it["boxes"] - [left, top, left, top], 0, 24)
            kept = (moved[:, 2] > moved[:, 0]) & (moved[:, 3] > moved[:, 1])
            assert np.array_equal(got["mask.png"], it["mask"][top : top + 24, left : left + 24])
            np.testing.assert_allclose(got["boxes.npy"], moved[kept], atol=1e-3)


def test_boxes_leave_with_what_belongs_to_them(shard, scenes):
    pipeline = decoded(shard, min_size=1.0, min_visible=0.5).seed(3).map(T.RandomCrop(24))
    lost = 0
    for it, got in zip(scenes, samples(pipeline), strict=True):
        left, top = (int(n) for n in got["png"][0, 0, :2])
        moved = np.clip(it["boxes"] - [left, top, left, top], 0, 24)
        area = (moved[:, 2] - moved[:, 0]) * (moved[:, 3] - moved[:, 1])
        whole = (it["boxes"][:, 2] - it["boxes"][:, 0]) * (it["boxes"][:, 3] - it["boxes"][:, 1])
        keep = (area >= 0.5 * whole) & (moved[:, 2] - moved[:, 0] >= 1) & (moved[:, 3] - moved[:, 1] >= 1)
        lost += int((~keep).sum())
        assert got["labels.npy"].tolist() == it["labels"][keep].tolist()
        assert got["points.npy"].shape == (keep.sum(), 3, 3)
    assert lost > 50


def test_colours_leave_masks_alone(shard, scenes):
    pipeline = decoded(shard).map(T.ColorJitter(0.8, 0.8, 0.8, 0.3), T.GaussianBlur(5), T.RandomErasing(1.0))
    changed = 0
    for it, got in zip(scenes, samples(pipeline), strict=True):
        assert np.array_equal(got["mask.png"], it["mask"])
        np.testing.assert_allclose(got["boxes.npy"], it["boxes"], atol=1e-3)
        changed += not np.array_equal(got["png"], it["image"])
    assert changed > ROWS * 0.9


def test_a_mask_has_only_its_classes(shard):
    """What went wrong: a mask of 2 values came out of RandomResizedCrop with 256."""
    pipeline = infeed.open(shard).decode(**{"png": "rgb", "mask.png": "mask"}).map(T.RandomResizedCrop(64))
    with pipeline.batch(20).to_numpy() as loader:
        for batch in loader:
            assert batch["mask.png"].shape == (len(batch["png"]), 64, 64) and batch["mask.png"].max() <= 4


def test_types_of_masks(tmp_path):
    palette = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4) % 3).convert("P")
    palette.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0])
    out = io.BytesIO()
    palette.save(out, "PNG", bits=2)
    ids = np.arange(12, dtype=np.int32).reshape(3, 4) * 1500
    coded = np.stack([ids & 255, ids >> 8 & 255, ids >> 16], -1).astype(np.uint8)
    with infeed.ShardWriter(tmp_path / "a-%d.tar") as shards:
        shards.write(
            {
                "__key__": "a",
                "p.png": out.getvalue(),
                "wide.png": png((ids % 65536).astype(np.uint16)),
                "id.png": png(coded),
                "img.png": png(coded),
            }
        )
    masks = {"p.png": D.mask(dtype="int64"), "wide.png": D.mask(dtype="int32"), "id.png": D.mask(colors="id")}
    pipeline = infeed.open(str(tmp_path / "a-0.tar")).decode(**masks, **{"img.png": "rgb"})
    batch = next(iter(pipeline.map(T.RandomHorizontalFlip(1.0)).batch(1).to_numpy()))
    assert batch["p.png"][0].dtype == np.int64
    assert np.array_equal(batch["p.png"][0], np.asarray(palette)[:, ::-1])
    assert np.array_equal(batch["wide.png"][0], ids[:, ::-1] % 65536)
    assert np.array_equal(batch["id.png"][0], ids[:, ::-1])
    fields = ["img.png", "p.png", "wide.png", "id.png"]
    pipeline = pipeline.map(T.Pad(1), on=fields).map(T.ToDtype("uint16"), on="wide.png")
    batch = next(iter(pipeline.batch(1).to_numpy()))
    assert batch["wide.png"][0].dtype == np.uint16 and batch["wide.png"][0][0].tolist() == [0] * 6


def refused(pipeline: infeed.Pipeline, match: str) -> None:
    with pytest.raises(infeed.PlanError, match=match):
        pipeline.batch(2, ragged="list").to_numpy()


def test_what_would_tear_an_image_and_its_targets_apart_is_refused(shard):
    data = decoded(shard)
    refused(data.map(T.RandomHorizontalFlip(), on="png"), "moves `png` and leaves `.*` behind")
    refused(data.map(T.RandomHorizontalFlip(), on=["png", "boxes.npy", "points.npy"]), "leaves `mask.png` behind")
    refused(data.map(T.RandomHorizontalFlip(), on="mask.png"), "without its image `png`")
    refused(data.map(T.RandAugment()), "cannot follow")
    refused(data.map(T.ColorJitter(0.5), on="mask.png"), "changes colours")
    refused(data.map(T.Normalize([0.5], [0.5]), on="boxes.npy"), "changes colours")
    plain = {"png": "rgb", "mask.png": "mask"}
    refused(infeed.open(shard).decode(**plain).map(T.RandomIoUCrop()), "needs boxes")
    lone = infeed.open(shard).select("boxes.npy").decode(**{"boxes.npy": "boxes"})
    refused(lone, "lies in an image")
    loose = {"png": "rgb", "boxes.npy": "boxes", "labels.npy": D.npy(dtype="int64", shape=(-1,))}
    refused(infeed.open(shard).select(*loose).decode(**loose), r"along=\[...\]\); candidates are labels.npy")
    refused(data.views("png", 2, T.CenterCrop(8)), "views.* leave `boxes.npy` behind")
    plain_mask = infeed.open(shard).select("png", "mask.png").decode(**plain)
    with pytest.raises(infeed.PlanError, match=r"`mask\.png` would stay"):
        plain_mask.map(T.CenterCrop(8)).batch(2).map_batch(T.MixUp()).to_numpy()
    two = {"png": "rgb", "mask.png": "rgb", "boxes.npy": D.boxes(along=[])}
    refused(infeed.open(shard).select(*two).decode(**two), "several say which")
    named = {**two, "boxes.npy": D.boxes(along=[], image="png")}
    assert len(samples(infeed.open(shard).select(*named).decode(**named).map(T.CenterCrop(8)))) == ROWS


def test_boxes_without_their_image(shard, scenes):
    """The image is needed for its size, and may be left out of the batch."""
    pipeline = decoded(shard, to="cxcywh", to_relative=True).map(T.RandomHorizontalFlip(1.0))
    pipeline = pipeline.select("boxes.npy", "labels.npy")
    with pipeline.batch(50, ragged="list").to_numpy() as loader:
        rows = [(b["boxes.npy"][i], b["labels.npy"][i]) for b in loader for i in range(len(b["labels.npy"]))]
    for it, (boxes, labels) in zip(scenes, rows, strict=True):
        h, w = it["mask"].shape
        left, top, right, bottom = it["boxes"].T
        want = np.stack(
            [1 - (left + right) / 2 / w, (top + bottom) / 2 / h, (right - left) / w, (bottom - top) / h], 1
        )
        np.testing.assert_allclose(boxes, want, atol=1e-5)
        assert labels.tolist() == it["labels"].tolist()


def test_views_have_their_own_targets(shard, scenes):
    fields = ["png", "mask.png", "boxes.npy", "labels.npy", "points.npy"]
    pipeline = decoded(shard).views(fields, 2, to=["v", "m", "b", "l", "p"])
    for view, transform in ((0, T.RandomHorizontalFlip(1.0)), (1, T.Resize([20, 30]))):
        pipeline = pipeline.map(transform, on=[f"{name}_{view}" for name in "vmbp"])
    with pipeline.batch(50, ragged="list").to_numpy() as loader:
        rows = [{k: b[k][i] for k in b if k[0] != "_"} for b in loader for i in range(len(b["v_0"]))]
    for it, got in zip(scenes, rows, strict=True):
        h, w = it["mask"].shape
        left, top, right, bottom = it["boxes"].T
        np.testing.assert_allclose(got["b_0"], np.stack([w - right, top, w - left, bottom], 1), atol=1e-3)
        np.testing.assert_allclose(got["b_1"], it["boxes"] * np.array([30 / w, 20 / h] * 2), atol=1e-3)
        assert got["m_0"].shape == (h, w) and got["m_1"].shape == (20, 30)
        assert got["l_0"].tolist() == got["l_1"].tolist() == it["labels"].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boxes.npy": np.array([[0, 0, np.nan, 3]], np.float32)}, "box 0 .* finite"),
        ({"boxes.npy": np.array([[90, 90, 120, 120]], np.float32)}, r"box 0 .* outside of its image of 20x10"),
        ({"boxes.npy": np.array([[5, 5, 1, 9]], np.float32)}, "negative"),
        ({"boxes.npy": np.zeros((1, 3), np.float32)}, "four numbers"),
        ({"labels.npy": np.array([1, 2])}, "1 boxes and 2 elements"),
        ({"labels.npy": np.zeros(0, np.int64)}, "1 boxes and 0 elements"),
        ({"points.npy": np.zeros((2, 3, 3), np.float32)}, "1 boxes and 2 keypoints"),
        ({"points.npy": np.full((1, 3, 3), np.inf, np.float32)}, "keypoint 0 .* finite"),
        ({"mask.png": png(np.zeros((20, 10), np.uint8))}, "the mask has 10x20 pixels and its image 20x10"),
        ({"mask.png": png(np.zeros((10, 20, 3), np.uint8))}, "colors="),
        ({"mask.png": b"garbage"}, "mask.png"),
    ],
)
def test_bad_targets_are_named(tmp_path, change, message):
    good = {
        "__key__": "good",
        "png": png(np.zeros((10, 20, 3), np.uint8)),
        "mask.png": png(np.zeros((10, 20), np.uint8)),
        "boxes.npy": np.array([[1, 2, 8, 9]], np.float32),
        "labels.npy": np.array([5]),
        "points.npy": np.ones((1, 3, 3), np.float32),
    }
    with infeed.ShardWriter(tmp_path / "a-%d.tar") as out:
        out.write(good)
        out.write({**good, "__key__": "bad", **change})
        out.write({**good, "__key__": "none", **{n: good[n][:0] for n in ("boxes.npy", "labels.npy", "points.npy")}})
    pipeline = decoded(str(tmp_path / "a-0.tar")).map(T.RandomHorizontalFlip()).batch(3, ragged="list")
    with pytest.raises(infeed.SampleError, match=message) as error:
        list(pipeline.to_numpy())
    assert "bad" in str(error.value) and "a-0.tar" in str(error.value)
    loader = pipeline.to_numpy(on_error="skip")
    (batch,) = list(loader)
    assert [len(boxes) for boxes in batch["boxes.npy"]] == [1, 0] and loader.stats()["bad_samples"] == 1
    assert batch["points.npy"][1].shape == (0, 3, 3)


def test_boxes_from_json_and_tables(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    boxes = [[[1.0, 2.0, 5.0, 6.0], [0.0, 0.0, 3.0, 3.0]], []]
    image = png(np.zeros((10, 20, 3), np.uint8))
    table = pa.table(
        {"image": [image] * 2, "boxes": pa.array(boxes, pa.list_(pa.list_(pa.float32()))), "labels": [[1, 2], []]}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    decoders = {"image": "rgb", "boxes": D.boxes("xywh", along=["labels"])}
    pipeline = infeed.parquet(tmp_path / "t.parquet").decode(**decoders).map(T.RandomVerticalFlip(1.0))
    with pipeline.batch(2, ragged="list").to_numpy() as loader:
        (batch,) = list(loader)
    assert batch["boxes"][0].tolist() == [[1, 2, 6, 8], [0, 7, 3, 10]] and batch["boxes"][1].shape == (0, 4)
    assert math.isclose(batch["labels"][0][1], 2)


def test_a_mask_that_is_decoded_as_an_image_is_warned_of(shard):
    fields = {"png": "rgb", "mask.png": "gray"}
    data = infeed.open(shard).select(*fields).decode(**fields)
    with pytest.warns(UserWarning, match=r"`mask.png` looks like a mask: .* decode\({\"mask.png\": \"mask\"}\)"):
        data.map(T.RandomResizedCrop(32)).batch(2).to_numpy().close()
    # Nothing is mixed, or nothing is said to be an image: no warning, which the tests would take for an error.
    data.map(T.RandomHorizontalFlip()).batch(2, ragged="list").to_numpy().close()
    infeed.open(shard).select("mask.png").decode(**{"mask.png": "gray"}).map(T.Resize([8, 8])).batch(
        2
    ).to_numpy().close()


def test_boxes_of_coco_follow_unasked(tmp_path):
    """A pipeline that only decodes the image of a COCO data set, and flips it."""
    import json

    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(png(np.zeros((10, 20, 3), np.uint8)))
    notes = {
        "images": [{"id": 1, "file_name": "a.png", "width": 20, "height": 10}],
        "categories": [{"id": 7, "name": "cat"}, {"id": 9, "name": "dog"}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 7, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0,
             "segmentation": [[1, 2, 4, 2, 4, 6, 1, 6]]},
            {"id": 2, "image_id": 1, "category_id": 9, "bbox": [15, 0, 5, 5], "area": 25, "iscrowd": 0,
             "segmentation": [[15, 0, 20, 0, 20, 5, 15, 5]]},
        ],
    }  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(notes))
    data = infeed.coco(tmp_path / "images", tmp_path / "a.json")
    plain = next(iter(data.select("boxes", "labels").batch(1, ragged="list").to_numpy()))
    assert plain["boxes"][0].tolist() == [[1, 2, 4, 6], [15, 0, 20, 5]]
    flipped = data.decode(image="rgb", masks="instance_masks").map(T.RandomHorizontalFlip(1.0))
    batch = next(iter(flipped.batch(1, ragged="list").to_numpy()))
    assert batch["boxes"][0].tolist() == [[16, 2, 19, 6], [0, 0, 5, 5]]
    masks = batch["masks"][0]
    assert masks.shape == (2, 10, 20) and [np.argwhere(m).min(0).tolist() for m in masks] == [[2, 16], [0, 0]]
    cropped = data.decode(image="rgb", masks="instance_masks").map(T.CenterCrop([10, 8]))
    batch = next(iter(cropped.batch(1, ragged="list").to_numpy()))
    assert (batch["boxes"][0].shape, batch["labels"][0].shape, batch["masks"][0].shape) == ((0, 4), (0,), (0, 10, 8))
    own = data.decode(image="rgb", boxes=D.boxes(to="cxcywh", along=["labels", "area", "iscrowd"]))
    assert next(iter(own.batch(1, ragged="list").to_numpy()))["boxes"][0][0].tolist() == [2.5, 4, 3, 4]


def test_an_image_that_becomes_an_array_takes_its_boxes_nowhere(shard):
    """Boxes that followed an image cannot end without it."""
    refused(decoded(shard).map(T.RandomHorizontalFlip()).map(T.BlockMask(4), on="png"), "lies in an image")
