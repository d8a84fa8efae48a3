"""Images that are left to a device, with the processor in place of one: which, what is made of them, what is said.

On a GPU the same is checked by scripts/gpu_check.py.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infeed
from infeed import transforms as T

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

from infeed.torch import decoding  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
VIEW = (T.RandomResizedCrop(24), T.RandomHorizontalFlip())


def photo(seed: int, kind: str = "RGB", **options: Any) -> bytes:
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    out = io.BytesIO()
    image = Image.fromarray(small).resize((60 + seed % 50, 48 + seed % 30), Image.Resampling.BICUBIC).convert(kind)
    image.save(out, "JPEG", quality=90, **options)
    return out.getvalue()


def write(folder: Path, files: list[bytes]) -> str:
    folder.mkdir(exist_ok=True)
    with infeed.ShardWriter(folder / "t-%06d.tar", maxcount=16) as writer:
        for number, file in enumerate(files):
            writer.write({"__key__": f"{number:04d}", "jpg": file, "cls": number})
    return str(folder / "*.tar")


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(decoding, "STAND_IN", True)
    yield


@pytest.fixture
def photos(tmp_path: Path) -> str:
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("RGB", {}),
        ("RGB", {"subsampling": 0}),
        ("L", {}),
        ("RGB", {"progressive": True}),
        ("CMYK", {}),
    ]
    return write(tmp_path / "photos", [photo(i, kinds[i % 5][0], **kinds[i % 5][1]) for i in range(40)])


def pipeline(shards: str, *steps: Any, batch: int = 8) -> infeed.Pipeline:
    exact = infeed.decoders.rgb(exact=True)
    found = infeed.open(shards).shuffle(seed=5).decode(jpg=exact, cls="int").map(*(steps or VIEW), on="jpg")
    return found.batch(batch)


def images(loader: Any) -> list[Any]:
    with loader:
        return [batch["jpg"].clone() for batch in loader]


@pytest.mark.parametrize(
    "steps",
    [
        VIEW,
        (*VIEW, T.ToCHW(), T.Normalize(MEAN, STD)),
        (T.Resize(40), T.CenterCrop(48)),
        (T.RandomResizedCrop(20), T.ColorJitter(0.3), T.RandomHorizontalFlip()),
        (*VIEW, T.RandomErasing(1.0)),
    ],
    ids=["view", "normalised", "padded", "jitter", "erased"],
)
def test_the_batches_are_those_of_the_threads(photos: str, steps: tuple[Any, ...]) -> None:
    plain = pipeline(photos, *steps)
    wanted = images(plain.to_torch(device="cpu"))
    for options in ({"decode": "gpu"}, {"decode": "hybrid", "share": 0.5}):
        found = images(plain.to_torch(device="cpu", **options))
        assert len(found) == len(wanted) == 5
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == b.dtype and a.stride() == b.stride()
            assert torch.equal(a, b)


def test_what_is_left_to_the_device_depends_on_files_and_steps(photos: str) -> None:
    def counts(*steps: Any) -> dict[str, int]:
        with pipeline(photos, *steps).to_torch(device="cpu", decode="gpu") as loader:
            for _ in loader:
                pass
            found: dict[str, int] = loader.stats()["device_decode"]
            return found

    # Of five kinds of files two are not for engines: progressive ones and CMYK.
    assert counts() == {"device": 24, "threads": 16, "refused": 0}
    assert counts(*VIEW, T.Grayscale(3))["device"] == 0


def test_a_share_is_the_same_in_every_run_and_after_a_resume(photos: str) -> None:
    options: dict[str, Any] = {"device": "cpu", "decode": "hybrid", "share": 0.4}
    plain = pipeline(photos)
    with plain.to_torch(**options) as one:
        first = []
        for step, batch in enumerate(one):
            first.append(batch["jpg"].clone())
            if step == 1:
                state = one.state_dict()
        counts = one.stats()["device_decode"]
        assert 0 < counts["device"] < 24
    with plain.to_torch(**options, threads=1) as two:
        two.load_state_dict(state)
        rest = [batch["jpg"] for batch in two]
    assert len(rest) == 3
    assert all(torch.equal(a, b) for a, b in zip(first[2:], rest, strict=True))


def test_tuples_labels_and_keys_stay_with_their_images(photos: str) -> None:
    plain = pipeline(photos)
    with plain.to_torch(device="cpu", decode="gpu") as loader, plain.to_torch(device="cpu") as other:
        for a, b in zip(loader, other, strict=True):
            assert a["__key__"] == b["__key__"] and torch.equal(a["cls"], b["cls"])
    named = plain.to_tuple("jpg", "cls")
    with named.to_torch(device="cpu", decode="gpu") as loader, named.to_torch(device="cpu") as other:
        for (x, y), (v, w) in zip(loader, other, strict=True):
            assert torch.equal(x, v) and torch.equal(y, w)


def damaged(seed: int) -> bytes:
    """Looks whole, and is not: the tables that its scan refers to are not there."""
    file = bytearray(photo(seed, "RGB"))
    at = file.index(b"\xff\xdb")
    file[at + 1] = 0xFE  # A table becomes a comment.
    return bytes(file)


def test_a_file_that_cannot_be_decoded_follows_the_policy(tmp_path: Path) -> None:
    files = [photo(i) for i in range(16)]
    files[5] = damaged(5)
    shards = write(tmp_path / "damaged", files)
    plain = infeed.open(shards).decode(jpg="rgb", cls="int").map(T.Resize((24, 24)), on="jpg").batch(8)
    with plain.to_torch(device="cpu", decode="gpu") as loader:
        with pytest.raises(infeed.errors.SampleError, match="0005") as raised:
            next(iter(loader))
        assert raised.value.row == 5 and loader.state_dict()["place"] == 0
    with plain.to_torch(device="cpu", decode="gpu", on_error="skip") as loader:
        first, second = list(loader)
        assert first["cls"].tolist() == [0, 1, 2, 3, 4, 6, 7] and len(first["jpg"]) == 7
        assert first["__key__"] == [f"{i:04d}" for i in (0, 1, 2, 3, 4, 6, 7)]
        assert len(second["jpg"]) == 8
        stats = loader.stats()
        assert len(stats["bad"]) == 1 and stats["device_decode"]["refused"] == 1


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_the_others_move_up_when_a_row_is_left_out(tmp_path: Path, policy: Any) -> None:
    files = [photo(i, **({"progressive": True} if i % 4 == 0 else {})) for i in range(24)]
    files[3] = files[12] = b"no image at all"
    shards = write(tmp_path / "some", files)
    plain = infeed.open(shards).shuffle(seed=3).decode(jpg=infeed.decoders.rgb(exact=True), cls="int")
    plain = plain.map(*VIEW, on="jpg").batch(8)
    left = plain.to_torch(device="cpu", decode="gpu", on_error=policy)
    with left as loader, plain.to_torch(device="cpu", on_error=policy) as other:
        for a, b in zip(loader, other, strict=True):
            assert a["__key__"] == b["__key__"]
            assert torch.equal(a["cls"], b["cls"]) and torch.equal(a["jpg"], b["jpg"])


def test_where_images_are_decoded_is_said(photos: str) -> None:
    with pipeline(photos).to_torch(device="cpu", decode="hybrid", share=0.25) as loader:
        text = loader.explain()
        assert "decode  jpg: on cpu" in text and "25%" in text
        next(iter(loader))
        assert "images on the device" in str(loader.stats())


def test_functions_in_python_get_pixels(photos: str) -> None:
    seen = []
    plain = infeed.open(photos).decode(jpg="rgb").map(T.Resize((24, 24)), on="jpg")
    plain = plain.map(lambda x: seen.append(x.shape) or x, on="jpg").batch(8)
    assert len(images(plain.to_torch(device="cpu", decode="gpu"))) == 5
    assert seen and all(shape == (24, 24, 3) for shape in seen)


def test_without_a_device_there_is_a_reason_and_the_threads(photos: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "STAND_IN", False)
    with pytest.warns(UserWarning, match="decoded on the CPU"):
        loader = pipeline(photos).to_torch(device="cpu", decode="gpu")
    assert "decode  jpg" not in loader.explain()
    assert len(images(loader)) == 5
    if not torch.cuda.is_available():
        missing = infeed._core.missing_for_device(*decoding.libraries())
        assert missing is None or "was not found" in missing


def test_options_are_checked(photos: str) -> None:
    plain = pipeline(photos)
    with pytest.raises(ValueError, match="decode must be"):
        plain.to_torch(device="cpu", decode="tpu")
    with pytest.raises(ValueError, match="hybrid"):
        plain.to_torch(device="cpu", decode="gpu", share=0.5)
    with pytest.raises(ValueError, match="share must be 0 to 1"):
        plain.to_torch(device="cpu", decode="hybrid", share=1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plain.to_torch(device="cpu", decode="hybrid").explain().count("decode  jpg") == 1


def test_a_loader_can_be_looked_at_pickled_and_used_again(photos: str) -> None:
    import pickle

    with pipeline(photos).to_torch(device="cpu", decode="gpu") as loader:
        first = [batch["jpg"].clone() for batch in loader.over([[0, 1, 2], [3, 4, 5]])]
        assert [len(x) for x in first] == [3, 3]
        assert tuple(loader.dummy().batch["jpg"].shape) == (8, 3, 24, 24)
        assert loader[1]["jpg"].shape == (8, 3, 24, 24)
        copy = pickle.loads(pickle.dumps(loader))
        assert all(torch.equal(a, b) for a, b in zip(images(copy), images(loader), strict=True))
