"""The layout of images in the PyTorch door: N x C x H x W, as views of the memory of the batch."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import infeed
from infeed import _core
from infeed import transforms as T
from infeed.doors.layouts import hwc_images

torch = pytest.importorskip("torch")

from infeed.torch import device as door  # noqa: E402
from infeed.torch import lanes, on_device  # noqa: E402

PIXELS = np.random.default_rng(0).integers(0, 256, (12, 10, 14, 3), dtype=np.uint8)
FIRST = torch.from_numpy(PIXELS).permute(0, 3, 1, 2)


def images(*more):
    data = infeed.arrays(image=PIXELS, y=np.arange(12), images=["image"])
    return (data.map(*more) if more else data).batch(4)


def address(batch, name):
    return np.asarray(batch._core.column(name)).ctypes.data


@pytest.mark.parametrize("options", [{}, {"device": "cpu"}])
def test_layers_take_a_batch(options):
    model = torch.nn.Conv2d(3, 4, 3)
    data = images(T.ToDtype("f32", scale=True))
    for at, batch in enumerate(data.to_torch(**options)):
        found = batch["image"]
        assert model(found).shape == (4, 4, 8, 12)
        assert found.is_contiguous(memory_format=torch.channels_last) and found.data_ptr() == address(batch, "image")
        torch.testing.assert_close(found, FIRST[4 * at : 4 * at + 4] / 255)


def test_other_doors_keep_channels_last():
    assert next(iter(images().to_numpy()))["image"].shape == (4, 10, 14, 3)
    assert next(iter(images().to_torch(layout="nhwc")))["image"].shape == (4, 10, 14, 3)
    assert next(iter(images().to_torch(device="cpu", layout="nhwc")))["image"].shape == (4, 10, 14, 3)


@pytest.mark.parametrize("last", [T.ToCHW(), T.Normalize([0.5] * 3, [0.5] * 3)])
def test_images_with_channels_first_already(last):
    found = next(iter(images(last).to_torch()))["image"]
    assert found.shape == (4, 3, 10, 14) and found.is_contiguous()
    back = next(iter(images(last, T.ToHWC()).to_torch()))["image"]
    assert back.shape == (4, 3, 10, 14) and back.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(back, found)


def test_arrays_that_are_no_images_stay():
    found = next(iter(infeed.arrays(image=PIXELS).batch(4).to_torch()))["image"]
    assert found.shape == (4, 10, 14, 3)


@pytest.mark.parametrize("decoder, channels", [("rgb", 3), ("gray", 1), ("stored", 3)])
@pytest.mark.parametrize("options", [{}, {"device": "cpu"}])
def test_lists(shards, decoder, channels, options):
    data = infeed.open(shards).decode(jpg=decoder).batch(5)
    for got, want in zip(data.to_torch(**options), data.to_numpy(), strict=True):
        assert isinstance(got["jpg"], list) and len(got["jpg"]) == len(want["jpg"])
        for one, other in zip(got["jpg"], want["jpg"], strict=True):
            assert one.shape[0] == channels and np.array_equal(one.permute(1, 2, 0).numpy(), other)


def test_padded_images(shards):
    data = infeed.open(shards).decode(jpg="rgb").batch(5, ragged="pad")
    got, want = next(iter(data.to_torch()))["jpg"], next(iter(data.to_numpy()))["jpg"]
    assert np.array_equal(got.permute(0, 2, 3, 1).numpy(), want)


def test_views_and_tuples():
    data = infeed.arrays(image=PIXELS, y=np.arange(12), images=["image"])
    data = data.views("image", 2, T.RandomCrop(8)).map(T.ToCHW(), on="image_1").batch(4)
    assert list(hwc_images(data)) == ["image_0"]
    one, y, two = next(iter(data.to_tuple("image_0", "y", "image_1").to_torch()))
    assert one.shape == two.shape == (4, 3, 8, 8) and y.shape == (4,)
    assert one.is_contiguous(memory_format=torch.channels_last) and two.is_contiguous()
    part = infeed.arrays(image=PIXELS, images=["image"]).map(T.ToCHW())
    joined = infeed.concat([part, part])
    assert hwc_images(joined) == {} and list(hwc_images(joined.map(T.ToHWC()))) == ["image"]


@pytest.mark.parametrize("mix", [T.MixUp(num_classes=12, label="y"), T.CutMix(num_classes=12, label="y")])
def test_mixed_batches_stay_images(mix):
    data = images(T.ToDtype("f32", scale=True)).map_batch(mix)
    got, want = next(iter(data.to_torch())), next(iter(data.to_numpy()))
    assert got["y"].shape == (4, 12) and got["image"].shape == (4, 3, 10, 14)
    assert np.array_equal(got["image"].permute(0, 2, 3, 1).numpy(), want["image"])


def brighter(image):
    return np.minimum(image, 245) + np.uint8(10)


def cropped(image, rng):
    return image[: rng.integers(4, 10)]


def as_tensor(image):
    return torch.from_numpy(image)


@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"workers": "processes", "num_workers": 1}])
def test_arrays_that_functions_return_are_images_still(options):
    with images().map(brighter, on="image").to_torch(**options) as loader:
        found = next(iter(loader))["image"]
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(found, FIRST[:4].clamp(max=245) + 10)
    listed = next(iter(images().map(cropped, on="image").to_torch(**options)))["image"]
    assert [tuple(item.shape[::2]) for item in listed] == [(3, 14)] * 4
    assert all(torch.equal(item, FIRST[i, :, : item.shape[1]]) for i, item in enumerate(listed))


def test_what_functions_return_otherwise_is_left_alone():
    found = next(iter(images().map(as_tensor, on="image").to_torch()))["image"]
    assert found.shape == (4, 10, 14, 3), "a tensor is what the function wants"
    first = next(iter(images().map(lambda x: np.moveaxis(x, -1, 0), on="image").to_torch()))["image"]
    assert first.shape == (4, 3, 10, 14), "the last axis has not as many channels"
    flat = next(iter(images().map(lambda x: x.mean(axis=2), on="image").to_torch()))["image"]
    assert flat.shape == (4, 10, 14)
    other = next(iter(images().map(lambda s: {"copy": s["image"]}).to_torch()))["copy"]
    assert other.shape == (4, 10, 14, 3), "the plan knows no field of this name"
    wrapped = next(iter(infeed.wrap([{"image": p} for p in PIXELS]).batch(4).to_torch()))["image"]
    assert wrapped.shape == (4, 10, 14, 3)


def test_native_transforms_and_batches_behind_functions():
    data = images().map(brighter, T.CenterCrop(3), on="image")
    assert next(iter(data.to_torch()))["image"].is_contiguous(memory_format=torch.channels_last)
    chw = data.map(T.ToCHW(), on="image")
    want = next(iter(data.to_torch()))["image"]
    assert torch.equal(next(iter(chw.to_torch()))["image"], want), "3 x 3 x 3: only the plan can tell"
    pair = images().map(brighter, on="image").to_tuple("y", "image")
    assert next(iter(pair.to_torch()))[1].shape == (4, 3, 10, 14)
    mixed = images().map_batch(lambda x: x[::-1], on="image")
    assert torch.equal(next(iter(mixed.to_torch()))["image"], FIRST[:4].flip(0))


def frozen(image):
    image.flags.writeable = False
    return image


def test_read_only_arrays_are_copied_as_they_lie():
    data = images().map_batch(frozen, on="image")
    found = next(iter(data.to_torch()))["image"]
    assert found.is_contiguous(memory_format=torch.channels_last) and torch.equal(found, FIRST[:4])


class Staged(lanes.Lane):
    """A device that is host memory: batches go through slots and are copied."""

    def __init__(self, device):
        super().__init__(device)
        self.staged = True

    def upload(self, host):
        assert host.is_contiguous(), "one copy of memory as it lies"
        return host.clone()


def test_copies_to_a_device_keep_the_memory_order(monkeypatch, shards):
    monkeypatch.setattr(door, "lane_to", lambda device, **_: Staged(device))
    for at, batch in enumerate(images().to_torch(device="cpu")):
        assert batch["image"].is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(batch["image"], FIRST[4 * at : 4 * at + 4])
    ragged = infeed.open(shards).decode(jpg="rgb").batch(5)
    for got, want in zip(ragged.to_torch(device="cpu"), ragged.to_torch(), strict=True):
        assert all(
            a.stride() == b.stride() and torch.equal(a, b) for a, b in zip(got["jpg"], want["jpg"], strict=True)
        )


def test_transforms_on_the_device_get_channels_first():
    seen = []
    stages = [lambda x: (seen.append(tuple(x.shape)), x)[1], on_device.Normalize([0.5] * 3, [0.5] * 3)]
    found = next(iter(images().to_torch(device="cpu", on_device=stages)))["image"]
    assert seen[0] == (4, 3, 10, 14) and found.is_contiguous(memory_format=torch.channels_last)
    old = next(iter(images().to_torch(device="cpu", on_device=stages[1:], layout="nhwc")))["image"]
    assert torch.equal(found, old)


def test_explained_pickled_and_checked():
    loader = images().to_torch()
    assert "image: N x C x H x W, a view of N x H x W x C in memory (channels_last)" in loader.explain()
    assert "view" not in images(T.ToCHW()).to_torch().explain()
    kept = pickle.loads(pickle.dumps(images().to_torch(layout="nhwc")))
    assert kept.layout == "nhwc" and "N x C" not in kept.explain()
    assert next(iter(kept))["image"].shape == (4, 10, 14, 3)
    assert loader.dummy().batch["image"].stride() == next(iter(loader))["image"].stride()
    with pytest.raises(ValueError, match='layout must be "nchw" or "nhwc", got \'NCHW\''):
        images().to_torch(layout="NCHW")


SAMPLE_ARGS = {
    "Resize": (8,),
    "CenterCrop": (8,),
    "RandomCrop": (8,),
    "RandomResizedCrop": (8,),
    "Pad": (2,),
    "Normalize": ([0.5] * 3, [0.5] * 3),
    "ToDtype": ("f32",),
}


def test_the_engine_agrees_about_every_transform():
    """The layout that Python derives from a recipe is the one that the plan has."""
    data = infeed.arrays(image=PIXELS, images=["image"])
    seen = set()
    for entry in json.loads(_core.entries("transforms")):
        name = entry["name"]
        for before in (T.ToHWC(), T.ToCHW()):
            try:
                made = data.map(before, getattr(T, name)(*SAMPLE_ARGS.get(name, ()))).batch(2)
                words = [line for line in made.explain().splitlines() if " image " in line]
            except (TypeError, ValueError):
                continue  # for tokens, or only for one of the layouts
            assert (" image hwc " in words[-1]) == ("image" in hwc_images(made)), (name, words)
            seen.add(name)
    assert len(seen) > 20 and seen >= SAMPLE_ARGS.keys() | {"ToCHW", "ToHWC", "RandomErasing", "Grayscale"}
