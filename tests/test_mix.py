"""MixUp and CutMix inside the loader, compared with torchvision's arithmetic on the same batch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import jpeg, write_shards

import infeed
from infeed import transforms as T

torch = pytest.importorskip("torch")
v2 = pytest.importorskip("torchvision.transforms.v2")

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CLASSES = 10


def plain(shards: str, *finish: T.Transform, size: int = 8, shuffle: bool = True) -> infeed.Pipeline:
    finish = finish or (T.Normalize(MEAN, STD),)
    data = infeed.open(shards)
    data = data.shuffle(seed=5) if shuffle else data.seed(5)
    return data.decode(jpg="rgb", cls="int").map(T.RandomResizedCrop(24), *finish, on="jpg").batch(size)


def pairs(pipe: infeed.Pipeline, *mix: T.BatchTransform, **options):
    """Each batch as it is without mixing, and mixed."""
    one, two = pipe.to_torch(threads=2, **options), pipe.map_batch(*mix).to_torch(threads=2, **options)
    return list(zip(one, two, strict=True))


def lambdas(labels, shares):
    """What is left of each sample, from a pair of neighbours of different classes; None when there is none."""
    rolled = labels.roll(1, 0)
    for i in range(len(labels)):
        if labels[i] != rolled[i]:
            return float(shares[i, labels[i]])
    return None


class Fixed:
    """Replaces the distribution that torchvision draws from."""

    def __init__(self, value: float) -> None:
        self.value = value

    def sample(self, _shape) -> float:
        return self.value


def test_mixup_is_torchvision_mixup(shards):
    seen = []
    for before, after in pairs(plain(shards), T.MixUp(alpha=0.7, num_classes=CLASSES)):
        lam = lambdas(before["cls"], after["cls"])
        assert lam is not None
        reference = v2.MixUp(alpha=0.7, num_classes=CLASSES)
        reference._dist = Fixed(lam)
        images, shares = reference(before["jpg"], before["cls"])
        assert torch.equal(after["jpg"], images)
        assert torch.equal(after["cls"], shares)
        assert after["cls"].dtype == torch.float32
        seen.append(lam)
    assert len(set(seen)) == len(seen) == 7, "every batch has its own"


@pytest.mark.parametrize(
    "finish", [(T.Normalize(MEAN, STD),), (T.ToDtype("f32", scale=True), T.ToHWC()), (T.ToHWC(),)]
)
def test_cutmix_is_torchvision_cutmix(shards, finish):
    boxes = 0
    for before, after in pairs(plain(shards, *finish), T.CutMix(num_classes=CLASSES)):
        lam = lambdas(before["cls"], after["cls"])
        old, new = before["jpg"], after["jpg"]
        if old.shape[-1] == 3:
            old, new = old.permute(0, 3, 1, 2), new.permute(0, 3, 1, 2)
        rolled = old.roll(1, 0)
        changed = ((new != old).any(0).any(0)).nonzero()
        if len(changed):
            (y1, x1), (y2, x2) = changed.min(0).values.tolist(), (changed.max(0).values + 1).tolist()
            boxes += 1
        else:
            y1 = x1 = y2 = x2 = 0
        want = old.clone()
        want[..., y1:y2, x1:x2] = rolled[..., y1:y2, x1:x2]
        assert torch.equal(new, want)
        assert lam == np.float32(1.0 - (x2 - x1) * (y2 - y1) / (24 * 24))
        reference = v2.CutMix(num_classes=CLASSES)
        assert torch.equal(after["cls"], reference._mixup_label(before["cls"], lam=lam))
    assert boxes > 3


def test_rectangles_have_the_size_that_torchvision_gives_them(shards):
    """A huge alpha fixes lambda at a half, so the size of boxes that no border cuts is known."""
    side = 2 * int(0.5 * math.sqrt(0.5) * 24)
    sizes = set()
    for epoch in range(6):
        for before, after in pairs(plain(shards), T.CutMix(alpha=1e9, num_classes=CLASSES), epoch=epoch):
            changed = ((after["jpg"] != before["jpg"]).any(0).any(0)).nonzero()
            low, high = changed.min(0).values, changed.max(0).values + 1
            inside = bool((low > 0).all() and (high < 24).all())
            if inside:
                sizes.add(tuple((high - low).tolist()))
    assert sizes == {(side, side)}


@pytest.mark.parametrize("dtype", ["u8", "f16", "bf16"])
def test_other_types_are_summed_in_f32_and_rounded_once(shards, dtype):
    finish = (T.ToDtype(dtype, scale=dtype != "u8"), T.ToCHW())
    for before, after in pairs(plain(shards, *finish), T.MixUp(num_classes=CLASSES)):
        lam = lambdas(before["cls"], after["cls"])
        old = before["jpg"].float()
        want = old.roll(1, 0).mul_(1.0 - lam).add_(old.mul(lam))
        want = (want + 0.5).floor() if dtype == "u8" else want
        assert after["jpg"].dtype == before["jpg"].dtype
        assert torch.equal(after["jpg"], want.to(before["jpg"].dtype))


def test_random_mix_chooses_per_batch(tmp_path):
    shards = write_shards(tmp_path, 160)
    kinds = []
    for before, after in pairs(plain(shards, size=4), T.RandomMix(0.8, 1.0, CLASSES)):
        rolled = before["jpg"].roll(1, 0)
        copied = (after["jpg"] == before["jpg"]) | (after["jpg"] == rolled)
        kinds.append("cutmix" if bool(copied.all()) else "mixup")
    assert 8 < kinds.count("cutmix") < 32


def test_mixes_can_follow_each_other(shards):
    pipe = plain(shards).map_batch(T.MixUp(num_classes=CLASSES), T.CutMix())
    for batch in pipe.to_numpy():
        assert batch["cls"].shape[1] == CLASSES
        np.testing.assert_allclose(batch["cls"].sum(1), 1, atol=1e-6)


def test_threads_do_not_matter(shards):
    pipe = plain(shards).map_batch(T.RandomMix(num_classes=CLASSES))

    def epochs(**options):
        loader = pipe.to_numpy(**options)
        return [(b["jpg"].tobytes(), b["cls"].tobytes()) for _ in range(2) for b in loader]

    want = epochs(threads=1)
    assert len(set(want)) == len(want) == 14
    for threads in (2, 16):
        assert epochs(threads=threads, io_threads=threads, prefetch=5) == want


def test_resume_gives_the_same_batches(shards):
    pipe = plain(shards).map_batch(T.RandomMix(num_classes=CLASSES))
    whole = [(b["jpg"].tobytes(), b["cls"].tobytes()) for b in pipe.to_numpy()]
    loader = pipe.to_numpy()
    for number, _ in enumerate(loader):
        if number == 2:
            state = loader.state_dict()
            break
    again = pipe.to_numpy(threads=1)
    again.load_state_dict(state)
    assert [(b["jpg"].tobytes(), b["cls"].tobytes()) for b in again] == whole[3:]
    with pytest.raises(ValueError, match="transforms"):
        plain(shards).to_numpy().load_state_dict(state)


def test_a_batch_of_one_is_left_alone(shards):
    before, after = pairs(plain(shards, size=7), T.RandomMix(num_classes=CLASSES))[-1]
    assert len(before["cls"]) == 1
    assert torch.equal(before["jpg"], after["jpg"])
    assert torch.equal(after["cls"], torch.nn.functional.one_hot(before["cls"], CLASSES).float())


def test_rows_keys_and_tuples(shards):
    for before, after in pairs(plain(shards), T.MixUp(num_classes=CLASSES)):
        assert before["__key__"] == after["__key__"]
    images, shares = next(
        iter(plain(shards).map_batch(T.MixUp(num_classes=CLASSES)).to_tuple("jpg", "cls").to_torch())
    )
    assert images.shape == (8, 3, 24, 24)
    assert shares.shape == (8, CLASSES)


def test_streams_are_mixed(tmp_path):
    rows = [{"__key__": str(i), "jpg": jpeg(i), "cls": str(i % 10).encode()} for i in range(20)]
    pipe = infeed.stream(lambda: rows).decode(jpg="rgb", cls="int").map(T.RandomResizedCrop(16)).batch(8)
    pipe = pipe.map_batch(T.CutMix(num_classes=CLASSES))
    first = [b["cls"].tobytes() for b in pipe.to_numpy(threads=1)]
    assert first == [b["cls"].tobytes() for b in pipe.to_numpy(threads=4)]
    assert len(first) == 3


def test_held_batches_stay_intact(shards):
    pipe = plain(shards).map_batch(T.MixUp(num_classes=CLASSES))
    loader = pipe.to_numpy(threads=2, prefetch=1)
    held = [(b, b["jpg"].copy(), b["cls"].copy()) for _ in range(2) for b in loader]
    for batch, images, shares in held:
        np.testing.assert_array_equal(batch["jpg"], images)
        np.testing.assert_array_equal(batch["cls"], shares)


def test_explain(shards):
    text = plain(shards).map_batch(T.MixUp(num_classes=CLASSES)).explain()
    assert "then    MixUp on jpg" in text
    assert "cls: array f32[batch, 10]" in text


def test_labels_that_are_no_class(shards):
    few = plain(shards, shuffle=False).map_batch(T.MixUp(num_classes=9))
    with pytest.raises(infeed.SampleError, match="label 9 is not one of 9 classes") as caught:
        list(few.to_numpy())
    assert (caught.value.row, caught.value.field) == (9, "cls")
    loader = few.to_numpy(on_error="skip")
    assert sum(len(b["cls"]) for b in loader) == 45
    assert loader.stats()["bad_samples"] == 5


def test_bad_pipelines(shards):
    mix = T.MixUp(num_classes=CLASSES)
    data = infeed.open(shards)
    decoded = data.decode(jpg="rgb", cls="int")
    for pipe, message in [
        (plain(shards).map_batch(T.MixUp()), "needs num_classes"),
        (plain(shards).map_batch(T.MixUp(num_classes=3, label="nope")), "there is no field `nope`"),
        (plain(shards).map_batch(mix, on="nope"), "there is no field `nope`"),
        (plain(shards).map_batch(mix, on="cls"), "holds the labels"),
        (decoded.batch(4).map_batch(mix), "differ in size"),
        (data.decode(jpg="rgb").map(T.RandomResizedCrop(8)).batch(4).map_batch(mix), "finds no labels"),
        (data.decode(cls="int").batch(4).map_batch(mix), "finds no image"),
        (
            data.decode(jpg="rgb", cls="text").map(T.CenterCrop(8)).batch(4).map_batch(T.MixUp(label="cls")),
            "whole numbers",
        ),
        (decoded.map(T.CenterCrop(8)).map_batch(mix), "after batch"),
        (plain(shards).map_batch(mix).to_tuple("jpg"), "to_tuple"),
    ]:
        with pytest.raises(infeed.PlanError, match=message):
            pipe.explain()
    with pytest.raises(ValueError, match="above 0"):
        plain(shards).map_batch(T.MixUp(alpha=0, num_classes=3)).explain()


def test_bad_arguments(shards):
    with pytest.raises(TypeError, match="got 3"):
        plain(shards).map_batch(3)
    with pytest.raises(TypeError, match=r"use map\("):
        plain(shards).map_batch(T.Resize(3))
    with pytest.raises(TypeError, match="use map_batch"):
        infeed.open(shards).map(T.MixUp(num_classes=3))
    with pytest.raises(ValueError, match="at least one"):
        plain(shards).map_batch()
