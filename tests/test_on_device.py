"""Transforms on the device give what those of the pipeline give, and random ones can be repeated."""

from __future__ import annotations

import numpy as np
import pytest

import infeed
from infeed import transforms as T

torch = pytest.importorskip("torch")

from infeed.torch import on_device  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def pipe(shards, *more):
    return (
        infeed.open(shards)
        .shuffle(seed=2)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(24), *more, on="jpg")
        .batch(8)
    )


@pytest.mark.parametrize("layout", [(), (T.ToCHW(),)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_normalize_equals_the_pipeline(shards, layout, dtype):
    want = list(pipe(shards, T.Normalize(MEAN, STD)).to_torch())
    stage = on_device.Normalize(MEAN, STD, dtype=dtype)
    for a, b in zip(want, pipe(shards, *layout).to_torch(device="cpu", on_device=[stage]), strict=True):
        assert b["jpg"].dtype == dtype and b["jpg"].shape == (len(b["cls"]), 3, 24, 24)
        worst = (a["jpg"] - b["jpg"].float()).abs().max()
        assert worst < (2e-6 if dtype == torch.float32 else 2**-8 * 3)


def test_normalize_takes_floats():
    x = torch.rand(2, 3, 5, 5)
    want = (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    assert torch.allclose(on_device.Normalize(MEAN, STD)(x), want, atol=1e-6)


def test_layouts():
    hwc = torch.randint(0, 256, (2, 6, 7, 3), dtype=torch.uint8)
    chw = on_device.ToLayout("CHW")(hwc)
    assert chw.shape == (2, 3, 6, 7) and chw.is_contiguous() and torch.equal(chw.permute(0, 2, 3, 1), hwc)
    assert torch.equal(on_device.ToLayout("HWC")(chw), hwc)
    last = on_device.ToLayout("channels_last")(hwc)
    assert last.data_ptr() == hwc.data_ptr() and last.is_contiguous(memory_format=torch.channels_last)
    normal = on_device.Normalize(MEAN, STD)(hwc)
    assert normal.is_contiguous(memory_format=torch.channels_last)


def test_channels_last_and_dtype(shards):
    for layout in ((), (T.ToCHW(),)):
        loader = pipe(shards, *layout).to_torch(device="cpu", channels_last=True, dtype=torch.float16)
        for batch, want in zip(loader, pipe(shards).to_torch(), strict=True):
            assert batch["jpg"].dtype == torch.float16 and batch["cls"].dtype == torch.int64
            assert batch["jpg"].is_contiguous(memory_format=torch.channels_last)
            assert torch.equal(batch["jpg"].to(torch.uint8), want["jpg"])
    batch = next(iter(pipe(shards).to_torch(device="cpu", dtype={"cls": torch.int32})))
    assert batch["cls"].dtype == torch.int32 and batch["jpg"].dtype == torch.uint8


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_flip(layout):
    images = torch.arange(64 * 3 * 5 * 6).to(torch.uint8).view(64, 3, 5, 6)
    images = on_device.ToLayout(layout)(images)
    flipped = images.flip(3 if layout == "CHW" else 2)
    assert torch.equal(on_device.RandomHorizontalFlip(0)(images), images)
    assert torch.equal(on_device.RandomHorizontalFlip(1)(images), flipped)
    got = on_device.RandomHorizontalFlip()(images, generator=torch.Generator().manual_seed(1))
    sides = [torch.equal(got[i], flipped[i]) for i in range(64)]
    assert all(side or torch.equal(got[i], images[i]) for i, side in enumerate(sides))
    assert 10 < sum(sides) < 54


def test_mixup_and_cutmix():
    images, labels = torch.rand(6, 3, 16, 12), torch.tensor([0, 1, 2, 3, 4, 4])
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        mixed, soft = on_device.MixUp(0.4, num_classes=5)(images, labels, generator=generator)
        assert soft.shape == (6, 5) and torch.allclose(soft.sum(1), torch.ones(6))
        share = soft[1, 1].item()
        assert torch.allclose(mixed, share * images + (1 - share) * images.roll(1, 0), atol=1e-6)

        u8 = (images * 255).to(torch.uint8)
        cut, soft = on_device.CutMix(1.0, num_classes=5)(u8, labels, generator=generator)
        same = (cut == u8).all(1).float().mean((1, 2))
        assert torch.allclose(soft.sum(1), torch.ones(6))
        # Pixels of the same colour in both images cannot be told apart; with noise there are none.
        assert torch.allclose(same, soft[1, 1].expand(6), atol=1e-6)
        other = (cut == u8.roll(1, 0)).all(1) | (cut == u8).all(1)
        assert other.all()


def test_randomness_is_addressed(shards):
    """The same batches again, also from the middle; other epochs, steps and ranks make other choices."""
    stages = [on_device.RandomHorizontalFlip(), on_device.Normalize(MEAN, STD), on_device.MixUp(1.0, num_classes=10)]

    def loader(**options):
        return pipe(shards).to_torch(device="cpu", on_device=stages, label="cls", **options)

    first = loader()
    epochs = [[(b["jpg"], b["cls"]) for b in first] for _ in range(2)]
    again = loader()
    running = iter(again)
    for want in epochs[0][:3]:
        got = next(running)
        assert torch.equal(got["jpg"], want[0]) and torch.equal(got["cls"], want[1])
    state = again.state_dict()
    running.close()
    resumed = loader()
    resumed.load_state_dict(state)
    for want, got in zip(epochs[0][3:] + epochs[1], [*resumed, *resumed], strict=True):
        assert torch.equal(got["jpg"], want[0]) and torch.equal(got["cls"], want[1])
    shares = {round(soft.max(1).values.min().item(), 5) for epoch in epochs for _, soft in epoch}
    assert len(shares) > 8, "every batch draws anew"


def test_image_and_mask_make_the_same_choices():
    x = np.random.default_rng(0).integers(0, 256, (32, 6, 5, 3), dtype=np.uint8)
    pipeline = infeed.arrays(image=x, mask=x[..., :1].copy(), images=["image", "mask"]).batch(32)
    batch = next(iter(pipeline.to_torch(device="cpu", on_device=[on_device.RandomHorizontalFlip()])))
    assert torch.equal(batch["image"][:, :1], batch["mask"])
    assert not torch.equal(batch["image"], torch.from_numpy(x).permute(0, 3, 1, 2))


def test_any_callable_and_tuples(shards):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
    loader = (
        pipe(shards, T.Normalize(MEAN, STD))
        .to_tuple("cls", "jpg")
        .to_torch(device="cpu", on_device=[module, lambda x: x + 1])
    )
    for (labels, images), want in zip(loader, pipe(shards, T.Normalize(MEAN, STD)).to_torch(), strict=True):
        assert torch.allclose(images, module(want["jpg"]) + 1) and torch.equal(labels, want["cls"])
        assert not images.requires_grad


def test_errors_say_what_to_do(shards):
    with pytest.raises(ValueError, match="name both"):
        pipe(shards).to_torch(device="cpu", on_device=[on_device.CutMix(num_classes=10)])
    with pytest.raises(TypeError, match="callables"):
        pipe(shards).to_torch(device="cpu", on_device=["Normalize"])
    with pytest.raises(ValueError, match="has no images"):
        infeed.arrays(x=np.zeros((4, 2))).batch(2).to_torch(device="cpu", on_device=[torch.neg])
    ragged = infeed.open(shards).decode(jpg="rgb").batch(4)
    with pytest.raises(TypeError, match="differ in size"):
        next(iter(ragged.to_torch(device="cpu", on_device=[on_device.Normalize(MEAN, STD)])))
    with pytest.raises(TypeError, match="put Normalize before it"):
        loader = pipe(shards).to_torch(device="cpu", on_device=[on_device.MixUp(num_classes=10)], label="cls")
        next(iter(loader))
    with pytest.raises(ValueError, match="std must not be zero"):
        on_device.Normalize([0.0], [0.0])
    with pytest.raises(ValueError, match="for 2 channels, and the images have 3"):
        on_device.Normalize([0.0, 0.0], [1.0, 1.0])(torch.zeros(1, 3, 8, 8))
