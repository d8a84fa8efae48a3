"""Transforms of arrays of any rank, compared with NumPy, SciPy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infeed
from infeed import transforms as T

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
SHAPES = [(7,), (5, 6), (3, 5, 4), (2, 3, 5, 4), (2, 1, 3, 5, 4)]
ROWS = 6


def rows(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Rows of numbers that the type holds."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random((ROWS, *shape)) < 0.5
    low = -50 if np.dtype(dtype).kind in "if" else 0
    made = rng.integers(low, 100, (ROWS, *shape))
    return (made + 0.25 * (np.dtype(dtype).kind == "f")).astype(dtype)


def run(
    data: dict[str, np.ndarray], *transforms: Any, on: Any = "x", threads: int = 2, **batch: Any
) -> dict[str, Any]:
    pipeline = infeed.arrays(data).map(*transforms, on=on).batch(ROWS, **batch)
    (only,) = list(pipeline.to_numpy(threads=threads))
    return {name: np.asarray(only[name]) for name in data}


def one(array: np.ndarray, *transforms: Any, **options: Any) -> np.ndarray:
    return run({"x": array}, *transforms, **options)["x"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_arithmetic_is_numpys(shape: tuple[int, ...], dtype: str) -> None:
    x = rows(shape, dtype)
    kind = dtype if dtype in FLOATS else "float32"
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[kind]

    def close(got: np.ndarray, wanted: np.ndarray) -> None:
        assert got.dtype == kind and got.shape == wanted.shape
        np.testing.assert_allclose(got.astype("f8"), wanted.astype("f8"), rtol=tolerance, atol=tolerance)

    wide = x.astype("float64" if kind == "float64" else "float32")
    close(one(x, T.Scale(0.5, -3)), wide * 0.5 - 3)
    close(one(x, T.Log1p(signed=True)), np.copysign(np.log1p(np.abs(wide)), wide))
    close(one(x, T.Normalize(2, 4)), (wide - 2) / 4)
    for axis in range(-len(shape), len(shape)):
        n = shape[axis]
        mean, std = np.arange(n) - 1.5, np.arange(n) + 0.5
        sides = [1] * len(shape)
        sides[axis] = n
        close(one(x, T.Normalize(mean, std, axis=axis)), (wide - mean.reshape(sides)) / std.reshape(sides))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_clip_keeps_the_type(dtype: str) -> None:
    x = rows((3, 5), dtype)
    np.testing.assert_array_equal(
        one(x, T.Clip(3, 40)), np.clip(x, np.dtype(dtype).type(3), np.dtype(dtype).type(40))
    )
    assert one(x, T.Clip(3)).dtype == dtype
    np.testing.assert_array_equal(one(x, T.Clip(high=40)), np.minimum(x, np.dtype(dtype).type(40)))


@pytest.mark.parametrize("to", [*FLOATS, *INTEGERS, "bool"])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_casts_are_numpys(dtype: str, to: str) -> None:
    x = rows((3, 5), dtype)
    if np.dtype(dtype).kind == "f" and np.dtype(to).kind == "u":
        x = np.abs(x)  # what NumPy makes of others is not defined
    got = one(x, T.ToDtype(to))
    assert got.dtype == to
    np.testing.assert_array_equal(got, x.astype(to))


def test_casts_out_of_range() -> None:
    x = np.array([[-5.7, 300.2, np.nan, np.inf, -np.inf, 3.9]] * ROWS, "f4")
    np.testing.assert_array_equal(one(x, T.ToDtype("u8"))[0], [0, 255, 0, 255, 0, 3])
    np.testing.assert_array_equal(one(x, T.ToDtype(np.int16))[0], [-5, 300, 0, 32767, -32768, 3])
    torch = pytest.importorskip("torch")
    y = np.random.default_rng(3).normal(size=(ROWS, 50)).astype("f4")
    pipeline = infeed.arrays({"x": y}).map(T.ToDtype("bf16"), on="x").batch(ROWS)
    (batch,) = list(pipeline.to_torch())
    assert torch.equal(batch["x"], torch.from_numpy(y).to(torch.bfloat16))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64", "float16", "bool"])
def test_moves_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    x, rank = rows(shape, dtype), len(shape)
    order = np.random.default_rng(rank).permutation(rank)
    got = one(x, T.Transpose([int(k) for k in order]))
    np.testing.assert_array_equal(got, x.transpose(0, *(order + 1)))
    axes = tuple(range(-rank, 0))
    np.testing.assert_array_equal(one(x, T.RandomFlip(axes, p=1)), np.flip(x, tuple(range(1, rank + 1))))
    np.testing.assert_array_equal(one(x, T.RandomFlip(axes, p=0)), x)
    for mode in ("constant", "edge", "symmetric", "reflect"):
        widths = [(min(1, n - 1), min(k % 3, n - 1)) for k, n in enumerate(shape)]
        wanted = np.pad(x, [(0, 0), *widths], mode=mode)
        np.testing.assert_array_equal(one(x, T.Pad(widths, padding_mode=mode)), wanted)
    last = [(2, 3)]
    fill = 1 if dtype == "bool" else 9
    wanted = np.pad(x, [(0, 0)] * rank + last, constant_values=fill)
    np.testing.assert_array_equal(one(x, T.Pad(last, fill=fill)), wanted)
    size = [n + 2 for n in shape]
    right = np.pad(x, [(0, 0)] + [(0, 2)] * rank)
    np.testing.assert_array_equal(one(x, T.PadTo(size=size)), right)
    left = np.pad(x, [(0, 0)] + [(2, 0)] * rank, mode="edge")
    np.testing.assert_array_equal(one(x, T.PadTo(size=size, side="left", padding_mode="edge")), left)


def test_rotations_are_numpys_and_all_come_up() -> None:
    x = np.arange(64 * 4 * 4, dtype="f4").reshape(64, 4, 4)
    (batch,) = list(infeed.arrays({"x": x}).map(T.RandomRot90((0, 1)), on="x").batch(64).to_numpy())
    seen = set()
    for row, got in zip(x, np.asarray(batch["x"]), strict=True):
        times = [k for k in range(4) if np.array_equal(got, np.rot90(row, k, axes=(0, 1)))]
        assert len(times) == 1
        seen.add(times[0])
    assert seen == {0, 1, 2, 3}


@pytest.mark.parametrize("shape", SHAPES)
def test_crops_are_boxes(shape: tuple[int, ...]) -> None:
    x = np.arange(ROWS * int(np.prod(shape)), dtype="i4").reshape(ROWS, *shape)
    size = [max(1, n - 2) for n in shape]
    got = one(x, T.RandomCrop(size))
    assert got.shape == (ROWS, *size)
    for row, crop in zip(x, got, strict=True):
        corner = np.argwhere(row == crop.ravel()[0])[0]
        box = tuple(slice(c, c + n) for c, n in zip(corner, size, strict=True))
        np.testing.assert_array_equal(crop, row[box])
    middle = tuple(slice(round((n - s) / 2), round((n - s) / 2) + s) for n, s in zip(shape, size, strict=True))
    np.testing.assert_array_equal(one(x, T.CenterCrop(size)), x[(slice(None), *middle)])
    larger = one(x, T.CenterCrop([n + 2 for n in shape]))
    np.testing.assert_array_equal(larger, np.pad(x, [(0, 0)] + [(1, 1)] * len(shape)))


@pytest.mark.parametrize("shape", [(7,), (5, 6), (6, 5, 7)])
@pytest.mark.parametrize("factor", [0.4, 0.7, 1.0, 1.6, 3.0])
def test_resampling_is_that_of_torch(shape: tuple[int, ...], factor: float) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(1).normal(size=(ROWS, *shape)).astype("f4")
    size = [max(1, int(n * factor)) for n in shape]
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(shape)]
    tensor = torch.from_numpy(x)[:, None]
    wanted = torch.nn.functional.interpolate(tensor, size, mode=mode, align_corners=False)[:, 0].numpy()
    np.testing.assert_allclose(one(x, T.Resize(size, antialias=False)), wanted, rtol=1e-5, atol=1e-5)
    nearest = torch.nn.functional.interpolate(tensor, size, mode="nearest-exact")[:, 0].numpy()
    np.testing.assert_array_equal(one(x, T.Resize(size, interpolation="nearest")), nearest)
    labels = rows(shape, "uint8")
    wanted = torch.nn.functional.interpolate(torch.from_numpy(labels)[:, None], size, mode="nearest-exact")[:, 0]
    np.testing.assert_array_equal(one(labels, T.Resize(size)), wanted.numpy())
    if len(shape) == 2:
        wanted = torch.nn.functional.interpolate(tensor, size, mode=mode, antialias=True)[:, 0].numpy()
        np.testing.assert_allclose(one(x, T.Resize(size)), wanted, rtol=1e-5, atol=1e-5)


def test_resampling_keeps_types() -> None:
    x = rows((5, 6), "float64") * 1e9
    got = one(x, T.Resize([10, 3]))
    assert got.dtype == "float64"
    assert one(rows((5, 6), "float16"), T.Resize([10, 3])).dtype == "float16"


@pytest.mark.parametrize(
    "transform",
    [
        T.RandomCrop((4, 5, 6)),
        T.RandomCrop((10, 10, 10), pad_if_needed=True),
        T.RandomResizedCrop((4, 5, 6), interpolation="nearest"),
        T.RandomFlip((-1, -2, -3)),
        T.RandomRot90([(-1, -2), (-2, -3)]),
    ],
    ids=str,
)
def test_image_and_mask_stay_together(transform: Any) -> None:
    mask = np.arange(ROWS * 8**3, dtype="f4").reshape(ROWS, 8, 8, 8)
    image = np.stack([mask, mask + 0.5], axis=1)
    got = run({"image": image, "mask": mask.astype("i8")}, transform, on=["image", "mask"])
    np.testing.assert_array_equal(got["image"][:, 0], got["mask"])
    inside = got["image"][:, 0] > 0
    np.testing.assert_array_equal(got["image"][:, 1][inside], got["mask"][inside] + 0.5)
    alone = run({"image": image, "mask": mask.astype("i8")}, T.RandomFlip((-1,), p=0), on=["image", "mask"])
    assert not np.array_equal(alone["image"].ravel()[: got["image"].size], got["image"].ravel())


def test_one_hot_and_missing_values() -> None:
    labels = rows((4, 5), "uint8") % 7
    for axis in (0, 1, 2, -1):
        wanted = np.moveaxis(np.eye(7, dtype="f4")[labels], -1, axis + 1 if axis >= 0 else axis)
        np.testing.assert_array_equal(one(labels, T.OneHot(7, axis=axis)), wanted)
    x = rows((4, 5), "float32")
    x[0, 1, 2], x[3, 0, 0] = np.nan, 1e20
    filled = one(x, T.FillNan(-1, missing=[1e20]))
    np.testing.assert_array_equal(filled, np.where(np.isnan(x) | (x == np.float32(1e20)), np.float32(-1), x))
    pipeline = infeed.arrays({"x": x}).map(T.RejectNan(missing=1e20), on="x").batch(1)
    with pytest.raises(infeed.SampleError, match=r"`x`.*\[1, 2\]|\[1, 2\]") as raised:
        list(pipeline.to_numpy())
    assert "row 0" in str(raised.value) or "0" in str(raised.value)
    kept = [np.asarray(b["x"]) for b in pipeline.to_numpy(on_error="skip")]
    np.testing.assert_array_equal(np.concatenate(kept), x[[1, 2, 4, 5]])


def test_noise_and_gamma() -> None:
    x = np.zeros((ROWS, 64, 64), "f4")
    noise = one(x, T.RandomNoise(0.5))
    assert abs(noise.std() - 0.5) < 0.02 and abs(noise.mean()) < 0.02
    assert len({row.tobytes() for row in noise}) == ROWS
    np.testing.assert_array_equal(one(x, T.RandomNoise(0.5, p=0)), x)
    y = np.random.default_rng(0).normal(size=(ROWS, 20)).astype("f4")
    low, span = y.min(1, keepdims=True), np.ptp(y, axis=1, keepdims=True)
    bent = one(y, T.RandomGamma((2, 2), p=1))
    np.testing.assert_allclose(bent, ((y - low) / span) ** 2 * span + low, rtol=1e-4, atol=1e-5)


def test_threads_and_epochs_do_not_change_choices() -> None:
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=(40, 2, 9, 9, 9)).astype("f4"), "y": rng.integers(0, 5, (40, 9, 9, 9))}
    pipeline = (
        infeed.arrays(data)
        .shuffle(seed=3)
        .map(T.RandomResizedCrop((6, 6, 6)), T.RandomFlip((-1, -2, -3)), T.RandomRot90([(-1, -2)]), on=["x", "y"])
        .map(T.RandomGamma(), T.RandomNoise(), on="x")
        .batch(8)
    )

    def epoch(threads: int) -> list[bytes]:
        return [np.asarray(b[name]).tobytes() for b in pipeline.to_numpy(threads=threads) for name in ("x", "y")]

    assert epoch(1) == epoch(3)


def test_mistakes_name_transform_argument_and_field() -> None:
    x, y = np.zeros((4, 3, 6, 6), "f4"), np.zeros((4, 6, 5), "i8")

    def error(transform: Any, on: Any = "x") -> str:
        with pytest.raises((ValueError, infeed.PlanError)) as raised:
            infeed.arrays({"x": x, "y": y}).map(transform, on=on).batch(2).explain()
        return str(raised.value)

    assert all(word in error(T.RandomCrop(4)) for word in ("RandomCrop", "`x`", "size=(4, 4)"))
    assert all(word in error(T.RandomCrop((7, 7))) for word in ("RandomCrop", "`x`", "pad_if_needed"))
    assert all(word in error(T.RandomCrop((3, 3)), ["x", "y"]) for word in ("`x`", "`y`", "last 2 axes differ"))
    assert all(word in error(T.Normalize([1, 2], [1, 2])) for word in ("Normalize", "`x`", "axis="))
    assert "needs std" in error(T.Normalize(1.0))
    assert all(word in error(T.OneHot(3)) for word in ("OneHot", "`x`", "integers"))
    assert all(word in error(T.RandomFlip((5,))) for word in ("RandomFlip", "`x`", "axes is 5"))
    assert all(word in error(T.FillNan(), "y") for word in ("FillNan", "`y`", "missing="))
    assert all(word in error(T.Transpose((0, 1))) for word in ("Transpose", "`x`", "3 axes"))


def test_lengths_that_vary(tmp_path) -> None:
    """Arrays of different shapes become equal."""
    shapes = [(3, 4), (5, 2), (1, 7)]
    for k, shape in enumerate(shapes):
        np.save(tmp_path / f"{k}.npy", np.full(shape, k + 1, "f4"))
    data = infeed.npy(tmp_path)
    (padded,) = list(data.map(T.PadTo(size=(5, 7)), on="data").batch(3).to_numpy())
    wanted = np.stack([np.pad(np.full(s, k + 1, "f4"), [(0, 5 - s[0]), (0, 7 - s[1])]) for k, s in enumerate(shapes)])
    np.testing.assert_array_equal(padded["data"], wanted)
    (sized,) = list(data.map(T.Resize((4, 4)), on="data").batch(3).to_numpy())
    np.testing.assert_allclose(sized["data"], np.broadcast_to([[[1]], [[2]], [[3]]], (3, 4, 4)), rtol=1e-6)
    with pytest.raises(infeed.SampleError, match="PadTo cannot make"):
        list(data.map(T.PadTo(size=(4, 7)), on="data").batch(3).to_numpy())
