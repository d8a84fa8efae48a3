"""Decoders that are chosen by what fields hold, and decoders with arguments."""

from __future__ import annotations

import copy
import inspect
import io
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import encode, jpeg, photo

import infeed
from infeed import _core
from infeed import decoders as D
from infeed import transforms as T
from infeed.pipeline.guess import decoder_of


def npy(array) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


FIELDS = {
    "jpg": lambda i: jpeg(i, 40, 30),
    "called.jpg": lambda i: encode(photo(12, 10, i), "PNG"),
    "webp": lambda i: encode(photo(12, 10, i), "WEBP"),
    "gif": lambda i: encode(photo(12, 10, i), "GIF"),
    "tif": lambda i: encode(photo(12, 10, i), "TIFF"),
    "bmp": lambda i: encode(photo(12, 10, i), "BMP"),
    "ppm": lambda i: encode(photo(12, 10, i), "PPM"),
    "cls": lambda i: str(i).encode(),
    "index": lambda i: f" {-i}\n".encode(),
    "score": lambda i: b"%.2f" % (i / 4),
    "mixed": lambda i: b"3" if i % 2 else b".5e1",
    "txt": lambda i: f"caption {i} ü".encode(),
    "words": lambda i: b"none" if i == 7 else str(i).encode(),
    "long": lambda i: b"1" * 30,
    "huge": lambda i: b"99999999999999999999",
    "odd": lambda i: b"nan" if i else b"1_000",
    "json": lambda i: json.dumps({"i": i}).encode(),
    "list": lambda i: b"[1, 2]",
    "npy": lambda i: npy(np.full((3, 4), i, np.float32)),
    "bin": lambda i: bytes([0, 1, 255, i]),
    "control": lambda i: b"a\x01b",
    "empty": lambda i: b"",
    "some": lambda i: b"5" if i < 3 else None,
    "half": lambda i: jpeg(i, 8, 8) if i % 2 else b"\x00\xff",
}


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("everything")
    with infeed.ShardWriter(folder / "x-%d.tar", maxcount=5) as out:
        for i in range(12):
            made = {name: make(i) for name, make in FIELDS.items()}
            out.write({"__key__": f"{i:03d}", **{name: data for name, data in made.items() if data is not None}})
    return str(folder / "*.tar")


def proposed(path) -> dict[str, str]:
    """What `infeed inspect` says."""
    run = subprocess.run([sys.executable, "-m", "infeed", "inspect", path, "--json"], capture_output=True, check=True)
    return json.loads(run.stdout)["decode"]


def chosen(pipeline) -> dict[str, str]:
    (stage,) = [stage for stage in pipeline.recipe["stage"] if stage["op"] == "decode"]
    return {name: use["name"] for name, use in stage["fields"].items()}


def test_auto_is_what_inspect_proposes(everything):
    data = infeed.open(everything).decode("auto")
    assert chosen(data) == proposed(everything)
    assert chosen(data)["called.jpg"] == "rgb" and chosen(data)["words"] == "text" and "bin" not in chosen(data)
    text = data.explain()
    assert "decode rgb" in text and "decode npy" in text
    kinds = {name: kind for name, kind, _ in data.plan.fields}
    assert kinds["jpg"] == "image" and kinds["cls"] == "array" and kinds["json"] == "json" and kinds["bin"] == "bytes"


def test_auto_decodes(everything):
    data = infeed.open(everything).select("jpg", "cls", "npy", "json", "bin").decode("auto")
    batch = next(iter(data.map(T.CenterCrop(8), on="jpg").batch(12).to_numpy()))
    assert batch["jpg"].shape == (12, 8, 8, 3) and batch["cls"].tolist() == list(range(12))
    assert batch["json"][3] == {"i": 3} and bytes(batch["bin"][2]) == bytes([0, 1, 255, 2])


def test_auto_and_by_hand(everything):
    data = infeed.open(everything).select("jpg", "cls").decode("auto", exact=True, cls="text")
    assert chosen(data) == {"jpg": "rgb", "cls": "text"}
    assert data.recipe["stage"][-1]["fields"]["jpg"]["args"]["exact"] is True
    again = data.decode("auto")
    assert again == data, "nothing is left to decode"
    shuffled = infeed.open(everything).select("cls").shuffle(seed=1).take(3)
    assert chosen(shuffled.decode("auto")) == {"cls": "int"}


def test_auto_of_streams_joins_and_memory(everything, tmp_path):
    def rows():
        return ({"cls": str(i).encode(), "n": i} for i in range(3))

    assert chosen(infeed.stream(rows).decode("auto")) == {"cls": "int"}
    parts = [infeed.open(everything).select("cls"), infeed.open(everything).select("cls")]
    assert chosen(infeed.concat(parts).decode("auto")) == {"cls": "int"}
    memory = infeed.arrays(jpg=[jpeg(i) for i in range(4)], x=np.arange(4))
    assert chosen(memory.decode("auto")) == {"jpg": "rgb"}


def test_what_auto_refuses(everything, tmp_path):
    data = infeed.open(everything)
    with pytest.raises(ValueError, match=r"decode takes .auto. or fields.*got 'rgb'"):
        data.decode("rgb")
    with pytest.raises(ValueError, match="before Python functions"):
        data.map(dict).decode("auto")
    with pytest.raises(ValueError, match=r"before batch\(\)"):
        data.batch(3).decode("auto")
    os.mkfifo(tmp_path / "fifo.tar")
    once = (infeed.open(tmp_path / "fifo.tar"), infeed.open("-"), infeed.stream(iter([{"x": b"1"}])))
    for pipeline in once:
        with pytest.raises(ValueError, match="can be read only once: name the decoders"):
            pipeline.decode("auto")
    with pytest.raises(FileNotFoundError):
        infeed.open("/nowhere/x.tar").decode("auto")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.jsonl", "a.csv", "a.txt"])
def test_nothing_is_proposed_for_what_is_decoded(name, tmp_path):
    """Whatever inspect proposes, decode takes."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / name
    columns = {"n": [1, 2], "f": [0.5, 1.0], "s": ["7", "8"], "b": [True, False], "list": [[1], [2, 3]]}
    table = pa.table({**columns, "raw": [b"7", b"8"], "photo": [jpeg(1), jpeg(2)]})
    if name == "a.parquet":
        pq.write_table(table, path)
    elif name == "a.arrow":
        with pa.ipc.new_file(path, table.schema) as out:
            out.write_table(table)
    elif name == "a.jsonl":
        path.write_text("".join(json.dumps({k: v[i] for k, v in columns.items()}) + "\n" for i in range(2)))
    elif name == "a.csv":
        path.write_text("n,f,s\n1,0.5,a\n2,1.5,b\n")
    else:
        path.write_text("12\n13\n")
    want = {"raw": "int", "photo": "rgb"} if name in ("a.parquet", "a.arrow") else {}
    data = infeed.open(path)
    assert proposed(str(path)) == want
    made = data.decode("auto")
    assert (chosen(made) if want else {}) == want and (want or made == data)
    assert len(list(made.to_numpy())) == 2


@pytest.mark.parametrize(
    "data, decoder",
    [
        (b"7", "int"),
        (b"+7\n", "int"),
        (b"1_0", "text"),
        (b"9223372036854775808", "float"),
        ("\u0663".encode(), "text"),
        (b"1e3", "float"),
        (b"inf", "text"),
        (b'{"a": NaN}', "text"),
        (b"BMW is a car", "text"),
        (b"P3 of 4", "rgb"),
        (b"\xff\xfe", ""),
        (b"a\x1fb", ""),
    ],
)
def test_contents(data, decoder):
    assert decoder_of(data) == decoder


def test_arguments(tmp_path):
    with infeed.ShardWriter(tmp_path / "n-%d.tar") as out:
        for i in range(4):
            out.write({"__key__": str(i), "npy": np.full((3, 4), i, np.float32), "jpg": jpeg(i, 64, 48)})
    data = infeed.open(tmp_path / "n-0.tar")
    plain = data.decode(npy="npy", jpg="rgb").batch(4, ragged={"npy": "list"})
    assert isinstance(next(iter(plain.to_numpy()))["npy"], list)
    known = data.decode(npy=D.npy(shape=(3, 4), dtype="float32"), jpg=D.rgb(max_pixels=10_000)).batch(4)
    batch = next(iter(known.to_numpy()))
    assert batch["npy"].shape == (4, 3, 4) and batch["npy"][2, 0, 0] == 2
    assert known.recipe["stage"][0]["fields"]["npy"] == {"name": "npy", "args": {"shape": [3, 4], "dtype": "float32"}}
    assert data.decode(npy=D.npy(), jpg=D.rgb()) == data.decode(npy="npy", jpg="rgb")
    for dtype in (np.float32, np.dtype("float32")):
        assert next(iter(data.decode(npy=D.npy(dtype=dtype, shape=[3, -1])).to_numpy()))["npy"][0].shape == (3, 4)
    with pytest.raises(infeed.SampleError, match="pixels"):
        next(iter(data.decode(jpg=D.rgb(max_pixels=10)).to_numpy()))
    with pytest.raises(infeed.SampleError, match="not of f64"):
        next(iter(data.decode(npy=D.npy(dtype="float64", shape=(3, 4))).to_numpy()))


def test_the_form_of_decoders():
    with pytest.raises(TypeError, match="npy has no argument 'size'; it takes dtype, shape"):
        D.npy(size=3)
    with pytest.raises(TypeError, match="int has no argument 'bits'; it takes none"):
        D.int(bits=3)
    with pytest.raises(
        TypeError, match=r"decode takes decoders, and D.npy is the class of one: give D.npy\(\.\.\.\)"
    ):
        infeed.arrays(x=[b"1"]).decode(x=D.npy)
    with pytest.raises(TypeError, match=r"takes the name of a decoder, or one of .*, got 3"):
        infeed.arrays(x=[b"1"]).decode(x=3)
    made = D.npy(shape=(3, 4))
    assert repr(made) == "npy(shape=[3, 4])" and made == pickle.loads(pickle.dumps(made)) == copy.deepcopy(made)
    assert made != D.npy(shape=(3, 5)) and D.int() != D.float() and len({made, D.npy(shape=[3, 4])}) == 1
    entries = json.loads(_core.entries("decoders"))
    assert set(D.__all__) == {"Decoder", *(entry["name"] for entry in entries)}
    for entry in entries:
        shown = inspect.signature(getattr(D, entry["name"])).parameters
        assert list(shown) == [p["name"] for p in entry["params"]]
