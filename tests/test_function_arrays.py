"""The arrays and images that Python functions and transforms of torchvision get."""

from __future__ import annotations

import functools
import io
import warnings

import numpy as np
import pytest

import infeed
from infeed import transforms as T
from infeed.functions.writable import makes_tensors

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")


#: Arrays that are not part of one array per batch: functions see the bytes of the shard, which nobody may write to.
LISTS = {"npy": "list"}


def png(seed: int, width: int, height: int, mode: str = "RGB") -> bytes:
    shape = (height, width, 3) if mode == "RGB" else (height, width)
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def data(tmp_path):
    with infeed.ShardWriter(tmp_path / "s-%d.tar") as out:
        for i in range(4):
            sample = {
                "__key__": str(i),
                "png": png(i, 20 + i, 16),
                "gray.png": png(i, 12, 12, "L"),
                "bin": bytes([i]) * 9,
            }
            out.write({**sample, "npy": np.full(5, i, np.float32)})
    return infeed.open(tmp_path / "s-0.tar").decode(png="rgb", npy="npy", **{"gray.png": "gray"})


def shares(sample):
    return {**sample, "npy": torch.from_numpy(sample["npy"]), "png": torch.as_tensor(sample["png"]).float().mean()}


def helper(array):
    return torch.from_numpy(array)


def shares_elsewhere(sample):
    return {**sample, "npy": helper(sample["npy"])}


def writes(array):
    torch.from_numpy(array).add_(1)
    return array


def reads(sample):
    assert not sample["npy"].flags.writeable
    return sample


class Callable:
    def __call__(self, array, rng):
        return torch.from_numpy(array) + int(rng.integers(1, 2))


WAYS = [{"workers": "consumer"}, {"workers": "threads", "num_workers": 2}, {"workers": "processes", "num_workers": 1}]


@pytest.mark.parametrize("options", WAYS, ids=lambda options: options["workers"])
def test_torch_does_not_warn(data, options):
    with warnings.catch_warnings():
        # Other libraries that are loaded may warn of forks.
        warnings.filterwarnings("error", message=".*not writable")
        torch.set_warn_always(True)
        try:
            for function in (shares, shares_elsewhere):
                batches = list(data.map(function).batch(2).to_torch(**options))
                assert [b["npy"][:, 0].tolist() for b in batches] == [[0, 1], [2, 3]]
                # What the function leaves alone stays what it was.
                assert batches[0]["bin"] == [b"\0" * 9, b"\1" * 9]
            made = list(data.map(Callable(), on="npy").batch(4).to_torch(**options))
            assert made[0]["npy"][:, 0].tolist() == [1, 2, 3, 4]
        finally:
            torch.set_warn_always(False)


def test_writes_reach_nobody_else(data):
    for _ in range(2):
        found = [b["npy"][0].tolist() for b in data.map(writes, on="npy").batch(1).to_numpy()]
        assert found == [[i + 1.0] * 5 for i in range(4)]


def test_bytes_that_a_function_makes_tensors_of(data):
    (batch,) = data.map(writes, on="bin").batch(4).to_numpy()
    assert np.asarray(batch["bin"])[:, 0].tolist() == [1, 2, 3, 4]


def test_functions_that_only_read_get_no_copies(data):
    assert len(list(data.map(reads).batch(1, ragged=LISTS).to_numpy())) == 4


def test_which_functions_make_tensors():
    def inner(x):
        return [torch.as_tensor(y) for y in x]

    def outer(x):
        return inner(x)

    for function in (
        shares,
        shares_elsewhere,
        functools.partial(shares),
        Callable(),
        outer,
        lambda x: torch.from_numpy(x),
    ):
        assert makes_tensors(function)
    for function in (
        reads,
        np.asarray,
        np.frombuffer,
        torch.tensor,
        len,
        functools.partial(reads),
        lambda x: np.frombuffer(x),
    ):
        assert not makes_tensors(function)


def test_a_write_to_a_read_only_array_says_what_to_do(data):
    def spoil(array):
        array[0] = 1
        return array

    with (
        data.map(spoil, on="npy").batch(1, ragged=LISTS).to_numpy() as loader,
        pytest.raises(ValueError, match="read-only") as caught,
    ):
        next(iter(loader))
    assert any("copy before writing, x = x.copy()" in note for note in caught.value.__notes__)


def v1_and_v2():
    v1, v2 = pytest.importorskip("torchvision.transforms"), pytest.importorskip("torchvision.transforms.v2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = v2.ToTensor()
    crop = v1.Compose([v1.CenterCrop(10), v1.Resize(8), v1.ToTensor(), v1.Normalize((0.5,) * 3, (0.2,) * 3)])
    return {"v1": v1.ToTensor(), "pil": v1.PILToTensor(), "chain": crop, "v2": old, "v2 pil": v2.PILToTensor()}


@pytest.mark.parametrize("name", ["v1", "pil", "chain", "v2", "v2 pil"])
def test_to_tensor_of_torchvision(data, name):
    """What the transform makes of the PIL image, as in a script of torchvision."""
    transform = v1_and_v2()[name]
    batches = list(data.map(transform, on="png").batch(1).to_torch())
    for i, batch in enumerate(batches):
        want = transform(Image.open(io.BytesIO(png(i, 20 + i, 16))))
        assert batch["png"].dtype == want.dtype and torch.equal(batch["png"][0], want)


def test_to_tensor_of_gray_images_and_after_other_transforms(data):
    v1 = pytest.importorskip("torchvision.transforms")
    (batch,) = data.map(v1.ToTensor(), on="gray.png").batch(4).to_torch()
    assert batch["gray.png"].shape == (4, 1, 12, 12) and batch["gray.png"].dtype == torch.float32
    both = data.map(T.CenterCrop(8), on="png").map(v1.RandomHorizontalFlip(1.0), v1.ToTensor(), on="png")
    (batch,) = both.batch(4).to_torch()
    (plain,) = data.map(T.CenterCrop(8), on="png").batch(4).to_torch()
    assert torch.equal(batch["png"], plain["png"].flip(-1).float() / 255)
