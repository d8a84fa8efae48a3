"""Every Python snippet of README and docs runs: those of pages that no other test runs, here."""

from __future__ import annotations

import ast
import io
import re
import shutil
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import jpeg
from format_writers import safetensors_bytes

import infeed
from infeed import transforms as T

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")
ROOT = Path(__file__).resolve().parents[1]
#: Pages whose snippets another test runs, with data of their own.
ELSEWHERE = {
    "annotations": "test_annotations_docs",
    "doors": "test_doors",
    "guide": "test_guide",
    "notebook": "test_notebook_docs",
    "remote": "test_remote",
    "ssl": "test_ssl",
    "staging": "test_staged",
    "tables": "test_corpora_docs",
    "tasks": "test_tasks_docs",
    "text": "test_corpora_docs",
    "tokens": "test_corpora_docs",
    "writing": "test_writing",
}
#: The same code on less data, in less time, without a GPU.
SMALLER = {
    "(256)": "(40)",
    "(224)": "(32)",
    "(224, ": "(32, ",
    "256, 3, 224, 224": "4, 3, 8, 8",
    "3, 224, 224": "3, 32, 32",
    "batch(256": "batch(16",
    "batch(64": "batch(16",
    "num_classes=1000": "num_classes=300",
    "range(90)": "range(2)",
    "range(loader.epoch, 90)": "range(loader.epoch, loader.epoch + 2)",
    "steps=1000": "steps=3",
    "take(1000)": "take(100)",
    "skip(1000)": "skip(100)",
    "num_workers=8": "num_workers=2",
    "num_workers=4": "num_workers=2",
    '"cuda"': '"cuda"' if torch.cuda.is_available() else '"cpu"',
}
NEEDS_A_GPU = ("torch.cuda.", '"nccl"')


def snippets() -> Iterator[Any]:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        page = path.stem
        found = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
        for number, code in enumerate(found if page not in ELSEWHERE else ()):
            gpu = not torch.cuda.is_available() and any(word in code for word in NEEDS_A_GPU)
            marks = [pytest.mark.skip(reason="needs a GPU")] if gpu else []
            yield pytest.param(code, id=f"{page}-{number}", marks=marks)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards under the names that the pages use."""
    root = tmp_path_factory.mktemp("snippets")
    out = io.BytesIO()
    Image.fromarray(np.arange(48 * 40, dtype=np.uint8).reshape(40, 48) % 3).save(out, "PNG")
    with infeed.ShardWriter(root / "train-%06d.tar", maxcount=2) as shards:
        for i in range(256):
            shards.write({"__key__": f"{i:04d}", "jpg": jpeg(i, 48, 40), "cls": i % 10, "mask": out.getvalue()})
    shutil.copytree(root, root / "imagenet")
    shutil.copytree(root / "imagenet", root / "demo-data")
    write_arrays(root)
    return root


def write_arrays(root: Path) -> None:
    """Arrays under the names that docs/arrays.md uses."""
    h5py = pytest.importorskip("h5py")
    for k in range(2):
        with h5py.File(root / f"volumes-{k}.h5", "w") as file:
            file.create_dataset("image", data=np.zeros((20, 64, 64), "f4"), chunks=(4, 64, 64), compression="gzip")
            file["label"] = np.arange(20)
    with h5py.File(root / "scans.h5", "w") as file:
        file["image"], file["label"] = np.zeros((4, 1, 64, 64, 64), "f4"), np.zeros((4, 64, 64, 64), "i8")
    (root / "ct").mkdir()
    for k in range(2):
        with h5py.File(root / "ct" / f"{k}.h5", "w") as file:
            for name, dtype in (("image", "f4"), ("mask", "u1")):
                file.create_dataset(name, (98, 100, 96), dtype, chunks=(64, 64, 64), compression="lzf")
    with h5py.File(root / "events.h5", "w") as file:
        for k in range(4):
            file[f"{k}/hits"], file[f"{k}/energy"] = np.zeros((k + 1, 3), "f4"), 0.5 * k
    zarr = pytest.importorskip("zarr")
    for name in ("t2m", "tp"):
        zarr.open_group(str(root / "era5.zarr"), mode="a").create_array(
            name, shape=(12, 3, 4), dtype="f4", chunks=(2, 3, 4)
        )
    zarr.open_group(str(root / "era5.zarr")).create_array("time", data=np.arange(12))
    with h5py.File(root / "radar.h5", "w") as file:
        file["rain"], file["time"] = np.zeros((20, 6, 8), "f4"), np.arange(4, 24)
    uproot, ak = pytest.importorskip("uproot"), pytest.importorskip("awkward")
    with uproot.recreate(root / "events-0.root") as file:
        jagged = ak.unflatten(np.arange(30, dtype="f4"), [3] * 10)
        file.mktree("Events", {"Muon_pt": "var * float32", "MET_pt": np.dtype("f4"), "label": np.dtype("i8")})
        file["Events"].extend({"Muon_pt": jagged, "MET_pt": np.arange(10, dtype="f4"), "label": np.arange(10) % 2})
    np.save(root / "embeddings.npy", np.zeros((1000, 512), "f4"))
    np.zeros((10, 32, 32, 3), "u1").tofile(root / "train.bin")
    for name in ("scans", "pairs", "latents"):
        (root / name).mkdir()
    for k in range(3):
        np.save(root / "scans" / f"{k}.npy", np.zeros((4, 5, 6), "u2"))
        np.savez(root / "pairs" / f"{k}.npz", x=np.zeros((8, 3)), y=np.arange(8))
        torch.save({"z": torch.zeros(4, 8, 8)}, root / "latents" / f"{k}.pt")
        (root / "latents" / f"{k}.safetensors").write_bytes(safetensors_bytes({"z": np.zeros((4, 8, 8), "f2")}))


class MyDataset(torch.utils.data.Dataset):
    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"x": torch.full((3,), index), "y": index}

    def __len__(self) -> int:
        return 128


def context() -> dict[str, Any]:
    """What the text around the snippets speaks of."""
    data = infeed.open("train-{000000..000127}.tar")
    decoded = data.shuffle(seed=17).decode(jpg="rgb", cls="int", mask="mask")
    train = decoded.map(T.Resize((32, 32)), on=["jpg", "mask"]).batch(16)
    a, b, c = (infeed.arrays(x=np.arange(n)) for n in (30, 20, 10))
    model = torch.nn.Linear(1, 1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    accelerator = types.SimpleNamespace(device=device, prepare=lambda *given: given)
    trainer = types.SimpleNamespace(fit=lambda model, loader: next(iter(loader)))
    from infeed.torch import on_device

    return {
        "infeed": infeed,
        "T": T,
        "np": np,
        "torch": torch,
        "on_device": on_device,
        "data": data,
        "train": train,
        "loader": train.to_torch(device=device),
        "mean": (0.485, 0.456, 0.406),
        "std": (0.229, 0.224, 0.225),
        "model": lambda images, labels: images.float().mean() if labels is not None else model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "step": lambda batch: None,
        "MyDataset": MyDataset,
        "a": a,
        "b": b,
        "c": c,
        "inputs": a,
        "targets": infeed.arrays(x=np.arange(30)),
        "mask": np.arange(256) % 3 == 0,
        "weights": np.ones(256),
        "accelerate": types.SimpleNamespace(Accelerator=lambda: accelerator),
        "lightning": types.SimpleNamespace(Trainer=lambda **options: trainer),
    }


def check(value: Any) -> None:
    """Pipelines and loaders do nothing until they are used: plan them, and take a batch."""
    if isinstance(value, infeed.Pipeline):
        assert value.plan
    elif isinstance(value, infeed.Loader | infeed.Generated):
        assert next(iter(value)) is not None
        value.close()
    elif isinstance(value, tuple | list):
        for item in value:
            check(item)


def run(code: str, names: dict[str, Any]) -> None:
    """Run code; what its statements give, and what they bind, is used."""
    before = dict(names)
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Expr):
            check(eval(compile(ast.Expression(statement.value), "snippet", "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), "snippet", "exec"), names)
    for name, value in names.items():
        if value is not before.get(name):
            check(value)


@pytest.mark.parametrize("code", list(snippets()))
def test_snippet(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    # Where there is no GPU the processor stands in for it.
    monkeypatch.setattr("infeed.torch.decoding.STAND_IN", True)
    for library in ("kornia", "albumentations", "torchvision"):
        if library in code:
            pytest.importorskip(library)
    for written, smaller in SMALLER.items():
        code = code.replace(written, smaller)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        names = context()
        run(code, names)
    names["loader"].close()


def test_other_pages_have_their_tests() -> None:
    for page, test in ELSEWHERE.items():
        assert (ROOT / "docs" / f"{page}.md").is_file()
        text = (ROOT / "tests" / f"{test}.py").read_text(encoding="utf-8")
        assert page in text and "python" in text, f"{test}.py does not run the snippets of {page}.md"


def test_the_check_finds_mistakes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that cannot work is found although the snippet reads nothing."""
    monkeypatch.chdir(folder)
    with pytest.raises(infeed.PlanError):
        run('data.decode(nothing="int")', context())
    with pytest.raises(KeyError):
        run('made = train.map(lambda sample: sample["nothing"]).to_numpy()', context())
