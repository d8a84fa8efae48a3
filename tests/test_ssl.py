"""Masks of patches for self-supervised learning, and the snippet of docs/ssl.md."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import jpeg

import infeed
from infeed import transforms as T

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ssl.md"


def masks(pipe: infeed.Pipeline, name: str, **options) -> np.ndarray:
    return np.concatenate([batch[name].copy() for batch in pipe.batch(16).to_numpy(**options)])


@pytest.mark.parametrize("kind", [T.RandomPatchMask, T.BlockMask])
def test_masks_are_views(shards, kind):
    data = (
        infeed.open(shards).seed(5).decode(jpg="rgb", cls="int").views("jpg", 2, kind((7, 9), ratio=0.4), to="mask")
    )
    first, second = masks(data, "mask_0"), masks(data, "mask_1")
    assert (first.dtype, first.shape) == (np.bool_, (50, 7, 9))
    assert (first.sum((1, 2)) == round(0.4 * 63)).all()
    assert (first != second).any((1, 2)).all(), "every view makes its own choices"
    np.testing.assert_array_equal(first, masks(data, "mask_0", threads=8))
    assert (first != masks(data.seed(6), "mask_0")).any()
    assert "bool[batch, 7, 9]" in data.batch(4).explain()


def test_epochs_differ_and_states_resume(shards):
    pipe = infeed.open(shards).shuffle(seed=2).decode(jpg="rgb").views("jpg", 1, T.BlockMask(8), to="mask").batch(10)
    loader = pipe.to_numpy()
    epochs = [[b["mask_0"].copy() for b in loader] for _ in range(2)]
    assert any((a != b).any() for a, b in zip(*epochs, strict=True))
    again = pipe.to_numpy()
    for number, _ in enumerate(again):
        if number == 1:
            state = again.state_dict()
            break
    last = pipe.to_numpy()
    last.load_state_dict(state)
    for got, want in zip(last, epochs[0][2:], strict=True):
        np.testing.assert_array_equal(got["mask_0"], want)


def test_ratios_by_image(shards):
    data = infeed.open(shards).decode(jpg="rgb")
    mask = T.BlockMask(16, ratio=(0.1, 0.5), min_patches=4, max_patches=128, p=0.5)
    counts = masks(data.views("jpg", 1, mask, to="mask"), "mask_0").sum((1, 2))
    some = counts[counts > 0]
    assert 10 < len(some) < 40
    assert some.min() >= 26 and some.max() <= 128 and len(set(some.tolist())) > 10


def test_a_mask_does_not_decode(tmp_path):
    """A damaged image has a mask: its pixels are not looked at. A view beside a mask has the pixels that it has alone."""
    with infeed.ShardWriter(tmp_path / "a-%d.tar") as out:
        for i in range(6):
            data = jpeg(i, 640, 512)
            out.write({"__key__": str(i), "jpg": data[: len(data) // 3] if i == 2 else data})
    data = infeed.open(str(tmp_path / "a-0.tar")).decode(jpg="rgb")
    mask = data.views("jpg", 1, T.RandomPatchMask(4), to="mask")
    assert masks(mask, "mask_0").shape == (6, 4, 4)
    small = data[3:].views("jpg", 1, T.Resize((24, 32)), to="a")
    both = small.views("jpg", 1, T.RandomPatchMask(4), to="mask")
    np.testing.assert_array_equal(masks(both, "a_0"), masks(small, "a_0"))


def test_outside_of_pipelines(shards):
    image = np.zeros((64, 48, 3), np.uint8)
    mask = T.BlockMask(14)(image, seed=3)
    assert (mask.dtype, mask.shape, mask.sum()) == (np.bool_, (14, 14), 78)
    np.testing.assert_array_equal(mask, T.BlockMask(14)(image, seed=3))
    assert T.RandomPatchMask(3, 1.0)(image[..., 0]).all()
    data = infeed.open(shards).decode(jpg="rgb").select("jpg").map(lambda x: x[:40, :40], on="jpg")
    batch = next(iter(data.map(T.RandomPatchMask((5, 6)), on="jpg").batch(4).to_numpy(workers="threads")))
    assert batch["jpg"].shape == (4, 5, 6)


def test_slips_are_named(shards):
    data = infeed.open(shards).decode(jpg="rgb", cls="int")
    for pipe, message in [
        (data.map(T.BlockMask(14), on="cls"), "works on images"),
        (infeed.open(shards).map(T.RandomPatchMask(14), on="jpg"), "decode it first"),
        (data.map(T.BlockMask(14), T.RandomHorizontalFlip(), on="jpg"), "works on images"),
    ]:
        with pytest.raises(infeed.PlanError, match=message):
            pipe.explain()
    with pytest.raises(ValueError, match="patches, not pixels"):
        data.map(T.BlockMask(2240), on="jpg").explain()
    with pytest.raises(ValueError, match="low <= high"):
        data.map(T.BlockMask(14, ratio=(0.5, 0.1)), on="jpg").explain()


def test_snippet(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    with infeed.ShardWriter(tmp_path / "train-%03d.tar", maxcount=8) as out:
        for i in range(64):
            out.write({"__key__": f"s{i}", "jpg": jpeg(i, 64, 48), "cls": i})
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "ssl.md", "exec"), names)
    shapes = [tuple(v.shape) for v in (*names["views"], *names["masks"])]
    assert shapes == [(64, 3, 224, 224)] * 2 + [(64, 3, 96, 96)] * 6 + [(64, 14, 14)] * 2
