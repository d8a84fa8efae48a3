"""Habits of other libraries, and mistakes of every day: the message says what to write instead."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import infeed
from infeed.command_line import run as command_line

DATA = infeed.arrays(x=np.arange(6))


@pytest.mark.parametrize("given, buffer", [((1000,), 1000), ((True,), 1000), ((500, 7), 500)])
def test_shuffle_with_a_size(given, buffer):
    with pytest.raises(
        TypeError, match=rf"shuffle\(seed=17\) mixes all rows; shuffle\(seed=17, buffer={buffer}\)"
    ) as caught:
        DATA.shuffle(*given)
    assert "WebDataset" in str(caught.value) and "window=8" in str(caught.value)
    # What it names works.
    assert sorted(np.concatenate([b["x"] for b in DATA.shuffle(seed=17).batch(2).to_numpy()])) == [0, 1, 2, 3, 4, 5]


def test_options_of_doors():
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match="to_torch has no option thread=; did you mean threads="):
        DATA.to_torch(thread=2)
    with pytest.raises(TypeError, match="to_numpy has no option num_worker=; did you mean num_workers="):
        DATA.to_numpy(num_worker=2)


@pytest.mark.parametrize("given, what", [([1, 2], "a list"), (3, "an? int"), ((n for n in "ab"), "a generator")])
def test_arrays_without_names(given, what):
    with pytest.raises(
        TypeError, match=rf"arrays takes arrays by name, .* got {what}: .*infeed.arrays\(x=data\).*wrap"
    ):
        infeed.arrays(given)
    # One array has a clear meaning.
    assert infeed.arrays(np.zeros((4, 2))).explain().splitlines()[0].endswith("infeed.arrays(x=data) names it")


@pytest.mark.parametrize(
    "field, words",
    [
        (3, "the field 'x' is int, and arrays needs one entry per row"),
        ("text", "the field 'x' is str, and arrays needs one entry per row"),
        (
            [[1], [2, 3]],
            "the rows of the field 'x' differ in shape: pad them, or give a list of samples to infeed.wrap",
        ),
    ],
)
def test_fields_that_are_no_arrays(field, words):
    with pytest.raises((TypeError, ValueError), match=words):
        len(infeed.arrays(x=field))


PAGE = b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n" * 40
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def shard(folder: Path, name: str = "a-%d.tar") -> Path:
    with infeed.ShardWriter(folder / name) as out:
        for i in range(4):
            out.write({"__key__": str(i), "cls": i})
    return folder / (name % 0)


@pytest.mark.parametrize("opened", [infeed.open, infeed.tar])
def test_a_web_page_named_tar(tmp_path, opened):
    page = tmp_path / "b.tar"
    page.write_bytes(PAGE)
    with pytest.raises(
        ValueError, match=r"b\.tar. .*(is HTML, a web page.*a download|this is an HTML page, not the data)"
    ):
        len(opened(page))
    with pytest.raises(
        infeed.FormatError, match=r"b\.tar. is damaged .* this is an HTML page, not the data"
    ) as caught:
        len(opened([shard(tmp_path), page]))
    assert caught.value.shard == str(page)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize(
    "data, words",
    [
        (PAGE, "HTML"),
        (b"\n  " + PAGE, "this is an HTML page, not the data: did a server answer with an error or a login page?"),
        (b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>', "XML"),
        (POINTER, "Git LFS pointer"),
        (b'{"error": "Repository not found"}', "this is JSON, not a tar: did a server answer with an error?"),
        (packed(PAGE), "compressed (gzip)"),
    ],
    ids=["page", "page behind blanks", "xml", "pointer", "json", "gzip"],
)
def test_what_is_no_tar_is_named(tmp_path, capfd, data, words):
    file = tmp_path / "a.tar"
    file.write_bytes(data)
    with pytest.raises(ValueError) as caught:  # FormatError is one
        infeed.open(file).peek(1)
    assert words in str(caught.value) and "checksum" not in str(caught.value)
    assert command_line(["inspect", str(file)]) == 1
    told = capfd.readouterr().err
    assert words in told and "checksum" not in told
    # Commands are asked for their rows, not for their names; what they give is unpacked first.
    inside = {"HTML": "this is an HTML page", "XML": "this is XML", "compressed (gzip)": "this is an HTML page"}
    pipe = f"pipe:cat {file}"
    with pytest.raises(ValueError) as caught:
        infeed.open(pipe).peek(1)
    assert inside.get(words, words) in str(caught.value) and "checksum" not in str(caught.value)
    assert command_line(["inspect", pipe]) == 1 and inside.get(words, words) in capfd.readouterr().err


def test_a_gzip_tar_that_is_named_tar(tmp_path):
    file = tmp_path / "a.tar"
    file.write_bytes(packed(shard(tmp_path, "b-%d.tar").read_bytes()))
    with pytest.raises(infeed.FormatError, match=r"this is compressed \(gzip\), not a plain tar; under a name"):
        len(infeed.open(file))
    assert infeed.open(f"pipe:cat {file}").peek(4)["cls"], "a command may give any of them"
    file.rename(tmp_path / "a.tar.gz")
    assert infeed.open(tmp_path / "a.tar.gz").peek(4)["cls"]


def test_a_page_behind_rows_is_damage(tmp_path):
    file = shard(tmp_path)
    file.write_bytes(file.read_bytes()[:1024] + PAGE)
    with pytest.raises(infeed.FormatError, match="at byte 1024: the checksum"):
        len(infeed.open(file))


def test_a_pointer_of_git_named_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(POINTER)
    with pytest.raises(infeed.FormatError, match="this is a Git LFS pointer, not the data: `git lfs pull`"):
        len(infeed.parquet(tmp_path / "a.parquet"))
    damaged = tmp_path / "c.parquet"
    damaged.write_bytes(b"PAR1" + bytes(99))
    with pytest.raises(infeed.FormatError) as caught:
        len(infeed.parquet(damaged))
    assert "HTML" not in str(caught.value) and "LFS" not in str(caught.value)


@pytest.mark.parametrize(
    "door, module, extra",
    [
        ("to_torch", "torch", "torch"),
        ("to_jax", "jax", "jax"),
        ("to_tf", "tensorflow", "tf"),
        ("to_arrow", "pyarrow", "arrow"),
    ],
)
def test_a_framework_that_is_not_installed(door, module, extra):
    code = f"""
import sys
sys.modules[{module!r}] = None
import numpy, infeed
try:
    infeed.arrays(x=numpy.arange(3)).{door}()
except ImportError as error:
    assert "pip install infeed[{extra}]" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_tables_without_pyarrow():
    pytest.importorskip("pandas")
    code = """
import sys
sys.modules["pyarrow"] = None
import pandas, infeed
frame = pandas.DataFrame({"x": [1, 2], "y": [0.5, 1.5]})
(batch,) = infeed.open(frame).batch(2).to_numpy()
assert batch["x"].tolist() == [1, 2] and batch["y"].tolist() == [0.5, 1.5]
try:
    infeed.open(pandas.DataFrame({"x": [1, 2], "t": ["a", "b"]}))
except ImportError as error:
    assert "a DataFrame of pandas needs pyarrow: pip install infeed[arrow]" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_extras_exist():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert {"torch", "jax", "tf", "arrow"} <= project["optional-dependencies"].keys()


@pytest.mark.parametrize(
    "url, command",
    [
        ("ftp://host/x.tar", "pipe:curl -sf ftp://host/x.tar"),
        ("hdfs://host/x-{000..004}.tar?a=1&b=2", "pipe:hdfs dfs -cat 'hdfs://host/x-{000..004}.tar?a=1&b=2'"),
        ("hdfs://host/x.tar", "pipe:hdfs dfs -cat hdfs://host/x.tar"),
    ],
)
@pytest.mark.parametrize("opened", [infeed.open, infeed.tar, infeed.parquet])
def test_addresses_name_the_command(opened, url, command):
    for given in (url, [url], f"local.tar::{url}"):
        with pytest.raises(ValueError, match="there is no store for") as caught:
            opened(given)
        assert f'infeed.open("{command}")' in str(caught.value)


def test_other_addresses():
    with pytest.raises(ValueError, match=r"must have the form `hf://datasets/OWNER/NAME/PATH`"):
        len(infeed.open("hf://datasets/a"))
    with pytest.raises(ValueError, match="there is no store for `mfs:`"):
        len(infeed.open("mfs://x.tar"))


def test_ranges_in_commands(tmp_path):
    """As in WebDataset: one command for each number."""
    for number in range(3):
        shard(tmp_path, f"x-00{number}-%d.tar")
    pipeline = infeed.open(f"pipe:cat {tmp_path}/x-{{000..002}}-0.tar")
    assert pipeline.recipe["source"]["paths"] == [f"pipe:cat {tmp_path}/x-00{n}-0.tar" for n in range(3)]
    found = [int(bytes(b["cls"][0])) for b in pipeline.batch(1).to_numpy()]
    assert found == [0, 1, 2, 3] * 3


@pytest.mark.parametrize(
    "command, made",
    [
        ("pipe:a-{8..11}", ["pipe:a-8", "pipe:a-9", "pipe:a-10", "pipe:a-11"]),
        ("pipe:a-{08..10}", ["pipe:a-08", "pipe:a-09", "pipe:a-10"]),
        ("pipe:a-{2..1}", ["pipe:a-2", "pipe:a-1"]),
        ("pipe:{0..1}-{3..4}", ["pipe:0-3", "pipe:0-4", "pipe:1-3", "pipe:1-4"]),
        # Braces of the shell and of programs stay.
        ("pipe:awk '{print $1}' x | jq -c '{a,b}'", ["pipe:awk '{print $1}' x | jq -c '{a,b}'"]),
        ("pipe:{ cat a; cat ${x}; }", ["pipe:{ cat a; cat ${x}; }"]),
    ],
)
def test_braces_in_commands(command, made):
    assert infeed.open(command).recipe["source"]["paths"] == made


def test_too_many_commands():
    with pytest.raises(ValueError, match="would be 10,000,000,000 commands"):
        infeed.open("pipe:cat {0..9999999999}.tar")
