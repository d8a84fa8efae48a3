"""Data sets that are recognised: images in memory, tensors, WebDataset, Hugging Face; compared with torch's loading."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

from PIL import Image  # noqa: E402
from recognising import EXACT, MEAN, STD, UNIT, both, photo, same, taken  # noqa: E402
from torch.utils.data import DataLoader, Subset, TensorDataset  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import CIFAR10, CIFAR100, MNIST, SVHN, FashionMNIST  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

from infeed.torch.recognise import take_over  # noqa: E402


def cifar(tmp_path: Path, kind: Any, transform: Any) -> Any:
    """An object of torchvision's own, without its download: it is read from files of its format."""
    data = np.stack([photo(i, 32, 32) for i in range(20)])
    folder = tmp_path / kind.base_folder
    folder.mkdir(exist_ok=True)
    key = "labels" if kind is CIFAR10 else "fine_labels"
    for name, _ in kind.train_list:
        with open(folder / name, "wb") as file:
            pickle.dump({"data": data.transpose(0, 3, 1, 2).reshape(20, -1), key: list(range(20))}, file)
    with open(folder / kind.meta["filename"], "wb") as file:
        pickle.dump({kind.meta["key"]: [str(i) for i in range(20)]}, file)
    kind = type(kind.__name__, (kind,), {"_check_integrity": lambda self: True})
    # What a subclass overrides here makes no samples.
    real = torchvision.datasets.cifar.check_integrity
    torchvision.datasets.cifar.check_integrity = lambda *_: True
    try:
        return kind(str(tmp_path), transform=transform)
    finally:
        torchvision.datasets.cifar.check_integrity = real


@pytest.mark.parametrize("kind", [CIFAR10, CIFAR100])
def test_cifar(tmp_path: Path, kind: Any) -> None:
    transform = v1.Compose([v1.Pad(2), v1.ToTensor(), v1.Normalize(MEAN, STD)])
    data = cifar(tmp_path, kind, transform)
    same(*both(lambda: DataLoader(data, batch_size=8, shuffle=True)), EXACT, UNIT)


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
def test_mnist(tmp_path: Path, kind: Any) -> None:
    raw = tmp_path / kind.__name__ / "raw"
    raw.mkdir(parents=True)
    pixels = np.stack([photo(i, 28, 28, 1) for i in range(15)])
    for part in ("train", "t10k"):
        (raw / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, 15, 28, 28) + pixels.tobytes())
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, 15) + bytes(range(15)))
    data = kind(str(tmp_path), transform=v1.Compose([v1.Resize(20), v1.ToTensor(), v1.Normalize((0.13,), (0.31,))]))
    same(*both(lambda: DataLoader(data, batch_size=4, shuffle=True)), EXACT, 4 / 255)


def test_svhn() -> None:
    data = SVHN.__new__(SVHN)
    data.data = np.stack([photo(i, 32, 32) for i in range(9)]).transpose(0, 3, 1, 2)
    data.labels = np.arange(9, dtype=np.uint8)
    data.transform, data.target_transform = v1.ToTensor(), None
    same(*both(lambda: DataLoader(data, batch_size=4)), EXACT, 1 / 255)


def test_tensors() -> None:
    rows = 23
    data = TensorDataset(
        torch.randn(rows, 3, 5),
        torch.arange(rows),
        torch.randn(rows, 2).to(torch.bfloat16),
        torch.arange(rows) % 2 == 0,
        torch.randn(rows, 1, dtype=torch.float64),
        torch.arange(rows * 2, dtype=torch.uint8).reshape(rows, 2),
    )
    same(*both(lambda: DataLoader(data, batch_size=4, shuffle=True)))
    same(*both(lambda: DataLoader(Subset(data, [5, 3, 5]), batch_size=2)))
    same(*both(lambda: DataLoader(TensorDataset(torch.arange(6)), batch_size=4)))


def test_tensors_are_read_where_they_lie() -> None:
    x = torch.zeros(4, 2)
    loader = DataLoader(TensorDataset(x), batch_size=4)
    takeover = taken(loader)
    assert next(takeover.iterate(loader))[0].sum() == 0
    x += 1
    batch = next(takeover.iterate(loader))[0]
    assert torch.equal(batch, x)
    batch += 1
    assert x.sum() == 8


# It leaves files to the garbage collector, and makes arrays that torch finds read-only.
careless = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:The given NumPy array is not writable")


def tars(folder: Path, **more: Any) -> str:
    """Three shards of nine, ten and eleven samples."""
    wds = pytest.importorskip("webdataset")
    at = 0
    for shard in range(3):
        with wds.TarWriter(str(folder / f"s-{shard}.tar")) as out:
            for _ in range(9 + shard):
                data = io.BytesIO()
                Image.fromarray(photo(at, 50 + at % 3, 60)).save(data, "PNG")
                out.write({"__key__": f"{at:04d}", "png": data.getvalue(), "cls": at, "txt": f"nr {at}", **more})
                at += 1
    return str(folder / "s-{0..2}.tar")


TRANSFORM = v2.Compose([v2.CenterCrop(40), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


def web(urls: str, shuffle: int = 0, decode: str = "pil", **more: Any) -> Any:
    wds = pytest.importorskip("webdataset")
    return wds.WebDataset(urls, **{"shardshuffle": False, **more}).shuffle(shuffle).decode(decode)


@careless
def test_webdataset_in_order(tmp_path: Path) -> None:
    data = web(tars(tmp_path)).to_tuple("jpg;png", "cls", "txt").map_tuple(TRANSFORM, None, None)
    same(*both(lambda: DataLoader(data, batch_size=4)), EXACT, 1 / 255)
    same(*both(lambda: DataLoader(data, batch_size=4, drop_last=True)), EXACT, 1 / 255)
    batched = data.batched(4)
    same(*both(lambda: DataLoader(batched, batch_size=None)), EXACT, 1 / 255)
    dropped = data.batched(4, partial=False)
    same(*both(lambda: DataLoader(dropped, batch_size=None)), EXACT, 1 / 255)


@careless
def test_webdataset_mixes_as_its_own_stages_do(tmp_path: Path) -> None:
    urls = tars(tmp_path)

    # With seeds of their own its stages are repeatable: the order must be the same, sample for sample.
    def make() -> Any:
        data = web(urls, shardshuffle=10, seed=3).shuffle(7, initial=4, seed=5).to_tuple("png", "cls")
        return DataLoader(data.map_tuple(TRANSFORM), batch_size=4)

    same(*both(make), EXACT, 1 / 255)
    loader = DataLoader(web(urls, 20).to_tuple("png", "cls").map_tuple(TRANSFORM), batch_size=4)
    takeover = taken(loader)
    epochs = [torch.cat([batch[1] for batch in takeover.iterate(loader)]).tolist() for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(30))
    assert epochs[0] != epochs[1]
    assert "WebDataset of 3 shards" in takeover.explain()
    flipped = web(urls, 20).to_tuple("png", "cls").map_tuple(v2.Compose([v2.RandomCrop(40), TRANSFORM]))
    loader = DataLoader(flipped, batch_size=4)
    batches = list(taken(loader).iterate(loader))
    assert sorted(torch.cat([batch[1] for batch in batches]).tolist()) == list(range(30))
    assert batches[0][0].shape == (4, 3, 40, 40)


@careless
@pytest.mark.parametrize("decode", ["rgb8", "torchrgb8", "torchrgb"])
def test_webdataset_decodes_to_arrays(tmp_path: Path, decode: str) -> None:
    data = web(tars(tmp_path), decode=decode).to_tuple("png cls")
    same(*both(lambda: DataLoader(data, batch_size=1)), EXACT, 1 / 255)


@careless
def test_webdataset_refusals(tmp_path: Path) -> None:
    urls = tars(tmp_path)
    zipped = str(tmp_path / "s.tar.gz")
    Path(zipped).write_bytes(gzip.compress((tmp_path / "s-0.tar").read_bytes()))
    for data, reason in (
        (web(urls).to_tuple("png", "cls").map_tuple(abs), "the transform <built-in function abs> is left in Python"),
        (web(urls).to_tuple("png", "cls").map_tuple(TRANSFORM, str), "map_tuple of cls"),
        (web(urls).to_tuple("png", "cls"), "stay PIL images"),
        (web(urls).to_tuple("png", "json").map_tuple(TRANSFORM), "finds 0 of these"),
        (web(urls, decode="l8").to_tuple("png", "cls"), "decode('l8') has no native twin"),
        (web(urls).map(list), "the stage"),
        (web(urls), "no decode() followed by to_tuple()"),
        (web("http://x.test/{0..2}.tar").to_tuple("png", "cls"), "is not a local file"),
        (web(urls).to_tuple("png", "cls").with_epoch(10), "with_epoch"),
        (web(str(tmp_path / "none.tar")).to_tuple("png", "cls"), "its first shard cannot be read"),
        (web(zipped).to_tuple("png", "cls").map_tuple(TRANSFORM), "is a stream"),
        (web([urls.replace("{0..2}", "0")] * 2).to_tuple("png", "cls"), "listed twice"),
    ):
        refusal = take_over(DataLoader(data, batch_size=4))
        assert not refusal
        assert reason in refusal.reason, refusal.reason


# Its fingerprints come from a pickler that warns about types of Arrow.
quiet = pytest.mark.filterwarnings("ignore:Cannot (locate|pickle)")


def hugging_face(rows: int = 13) -> Any:
    datasets = pytest.importorskip("datasets")
    encoded = []
    for i in range(rows):
        data = io.BytesIO()
        Image.fromarray(photo(i, 20, 30)).save(data, "PNG")
        encoded.append({"bytes": data.getvalue(), "path": None})
    columns = {
        "image": encoded,
        "label": list(range(rows)),
        "x": [i / 3 for i in range(rows)],
        "yes": [i % 3 == 0 for i in range(rows)],
        "text": [f"nr {i} ä" * i for i in range(rows)],
        "three": [[i, i + 1, i + 2] for i in range(rows)],
        "half": [[i / 2, 0.1] for i in range(rows)],
        "exact": list(range(rows)),
    }
    kinds = {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(num_classes=rows),
        "x": datasets.Value("float64"),
        "yes": datasets.Value("bool"),
        "text": datasets.Value("string"),
        "three": datasets.List(datasets.Value("int32")),
        "half": datasets.List(datasets.Value("float32"), length=2),
        "exact": datasets.Value("uint16"),
    }
    made = [
        datasets.Dataset.from_dict({name: cells[a:b] for name, cells in columns.items()}, datasets.Features(kinds))
        for a, b in ((0, 5), (5, rows))
    ]
    return datasets.concatenate_datasets(made)


@quiet
def test_hugging_face_tensors() -> None:
    data = hugging_face().with_format("torch")
    same(*both(lambda: DataLoader(data, batch_size=4, shuffle=True)))
    same(*both(lambda: DataLoader(data.remove_columns(["image", "text"]), batch_size=4)))
    chosen = data.shuffle(seed=1).select([3, 1, 8, 9, 2])
    same(*both(lambda: DataLoader(chosen, batch_size=2, shuffle=True)))
    some = hugging_face().with_format("torch", columns=["label", "image"])
    same(*both(lambda: DataLoader(Subset(some, [4, 4, 1]), batch_size=2)))


@quiet
def test_hugging_face_numpy_and_plain() -> None:
    data = hugging_face()
    arrays = data.remove_columns("text").with_format("numpy")
    same(*both(lambda: DataLoader(arrays, batch_size=4, shuffle=True)))
    plain = data.select_columns(["label", "x", "yes", "text", "exact"])
    same(*both(lambda: DataLoader(plain, batch_size=4, shuffle=True)))


@quiet
def test_hugging_face_images_by_mode() -> None:
    datasets = pytest.importorskip("datasets")
    data = hugging_face().select_columns(["image"])
    for mode in ("RGB", "L"):
        cast = data.cast_column("image", datasets.Image(mode=mode))
        for form in ("torch", "numpy"):
            formed = cast.with_format(form)
            same(*both(lambda: DataLoader(formed, batch_size=4)))  # noqa: B023


@quiet
def test_hugging_face_refusals() -> None:
    datasets = pytest.importorskip("datasets")
    data = hugging_face()
    missing = datasets.Dataset.from_dict({"x": [1, None, 3]})
    uneven = datasets.Dataset.from_dict({"x": [[1], [2, 3], [4]]}).with_format("torch")
    for refused, reason in (
        (data, "gives PIL images"),
        (data.with_transform(dict), "its format is 'custom'"),
        (data.with_format("torch", dtype=torch.float64), "arguments of its own"),
        (data.with_format("numpy"), "text in the column 'text'"),
        (data.select_columns(["three"]), "need the format"),
        (data.with_format("torch", columns=["x"], output_all_columns=True), "output_all_columns"),
        (missing, "missing values"),
        (uneven, "differ in length"),
    ):
        refusal = take_over(DataLoader(refused, batch_size=2))
        assert not refusal
        assert reason in refusal.reason, refusal.reason
