"""Signatures and types for editors, type checkers and `help` match what the package does."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import infeed
from infeed import _core, _typing
from infeed import transforms as T
from infeed.doors.options import DeviceOptions, LoaderOptions, TorchOptions, names_of
from infeed.pipeline import options as stages
from infeed.sources import args as formats

CALLS = Path(__file__).with_name("typed_calls.py")


def test_mypy_refuses_what_is_wrong_and_nothing_else(tmp_path):
    api = pytest.importorskip("mypy.api")
    pytest.importorskip("torch")
    pytest.importorskip("tokenizers")
    config = tmp_path / "mypy.ini"
    # Types of others take long to read and are not what is tested.
    config.write_text(
        "[mypy]\nignore_missing_imports = true\n[mypy-jax.*,pyarrow.*,tensorflow.*,torch.*]\nfollow_imports = skip\n"
    )
    command = ["--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), "--hide-error-context"]
    out, err, _ = api.run([*command, "--no-pretty", str(CALLS)])
    refused = {int(line) for line in re.findall(rf"{CALLS.name}:(\d+): error", out)}
    wanted = {n for n, line in enumerate(CALLS.read_text().splitlines(), 1) if line.endswith("# refused")}
    assert len(wanted) > 20 and refused == wanted, out + err


@pytest.fixture
def rows():
    return infeed.arrays(x=list(range(10)))


@pytest.mark.parametrize(
    ("door", "wrong", "right"),
    [("to_numpy", "thread", "threads"), ("to_torch", "channel_last", "channels_last"), ("to_arrow", "metta", "meta")],
)
def test_unknown_options_name_the_nearest(rows, door, wrong, right):
    with pytest.raises(TypeError, match=rf"{door} has no option {wrong}=; did you mean {right}=\?"):
        getattr(rows, door)(**{wrong: 2})
    with pytest.raises(TypeError, match=r"has no option zzz=; there are .*threads"):
        getattr(rows, door)(zzz=2)


def test_options_are_those_of_the_loaders():
    """The tables for type checkers have the names of the constructors."""
    assert names_of(LoaderOptions) == set(inspect.signature(infeed.Loader).parameters) - {"pipeline"}
    torch = pytest.importorskip("infeed.torch")
    own = set(inspect.signature(torch.DeviceLoader).parameters) - {"pipeline", "device", "options"}
    assert names_of(DeviceOptions) - names_of(TorchOptions) == own
    own = set(inspect.signature(torch.TorchLoader).parameters) - {"pipeline", "options"}
    assert names_of(TorchOptions) - names_of(LoaderOptions) == own


@pytest.mark.parametrize(
    ("table", "transform", "apart"),
    [
        (stages.TokenizeOptions, "Tokenize", {"tokenizer"}),
        (stages.MaskOptions, "MaskTokens", set()),
        (stages.SpanOptions, "CorruptSpans", set()),
    ],
)
def test_stages_take_what_their_transforms_take(table, transform, apart):
    shown = inspect.signature(getattr(T, transform)).parameters
    assert names_of(table) == set(shown) - apart


def test_token_arguments_are_those_of_tokens():
    shown = set(inspect.signature(infeed.tokens).parameters)
    assert names_of(formats.TokenArgs) == shown - {"paths", "length", "samples", "seed", "sampling"}


def test_words_are_those_of_the_engine(rows):
    assert set(get_args(_typing.Decoder)) == {entry["name"] for entry in json.loads(_core.entries("decoders"))}
    for word in get_args(_typing.OnError):
        rows.to_numpy(on_error=word).close()


@pytest.mark.parametrize("word", get_args(_typing.DtypeName))
def test_dtype_names_are_those_of_the_engine(tmp_path, word):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,0\n0,1\n")
    ((_, _, found),) = infeed.table(path, dtype=word).plan.fields
    assert found == word.replace("uint", "u").replace("bfloat", "bf").replace("float", "f").replace("int", "i")


@pytest.mark.parametrize(
    ("words", "transform", "param", "needed"),
    [
        (_typing.Interpolation, "Resize", "interpolation", {"size": 4}),
        (_typing.WarpInterpolation, "RandomRotation", "interpolation", {"degrees": 4}),
        (_typing.PaddingMode, "Pad", "padding_mode", {"padding": 4}),
    ],
)
def test_words_of_transforms_are_those_of_the_engine(words, transform, param, needed):
    for word in get_args(words):
        _core.Chain(json.dumps([[transform, {**needed, param: word}]]))
    with pytest.raises(ValueError, match=param):
        _core.Chain(json.dumps([[transform, {**needed, param: "zzz"}]]))


def test_transforms_show_their_parameters():
    shown = inspect.signature(T.RandomResizedCrop).parameters
    assert list(shown) == ["size", "scale", "ratio", "interpolation", "antialias"]
    assert shown["size"].default is inspect.Parameter.empty
    assert shown["scale"].default == (0.08, 1.0) and shown["antialias"].annotation is bool
    assert shown["interpolation"].annotation == _typing.Interpolation
    assert "smallest and largest share" in T.RandomResizedCrop.__init__.__doc__
    assert "scale" in T.RandomResizedCrop.__doc__


@pytest.mark.parametrize("name", [n for n in T.__all__ if n not in ("Transform", "BatchTransform")])
def test_every_transform_has_a_signature(name):
    """The signature binds what the constructor takes, and its defaults are those of the constructor."""
    made = getattr(T, name)
    shown = inspect.signature(made)
    assert [p["name"] for p in made._params] == list(shown.parameters)
    assert all(p.annotation is not inspect.Parameter.empty for p in shown.parameters.values())
    needed = {p.name: 1 for p in shown.parameters.values() if p.default is inspect.Parameter.empty}
    assert made(**needed).args == made(*needed.values()).args == needed


def test_a_wrong_argument_of_a_transform_is_told_as_before():
    with pytest.raises(TypeError, match="RandomResizedCrop has no argument 'sizes'; it takes size, scale"):
        T.RandomResizedCrop(sizes=3)
    with pytest.raises(TypeError, match="RandomResizedCrop needs size"):
        T.RandomResizedCrop()
    with pytest.raises(TypeError, match="CenterCrop takes at most 1 arguments, got 2"):
        T.CenterCrop(1, 2)
    with pytest.raises(TypeError, match="CenterCrop got two values for 'size'"):
        T.CenterCrop(1, size=2)


def test_lengths(rows):
    """A pipeline is as long as its rows, a loader as its batches."""
    batched = rows.shuffle(seed=1).batch(4)
    assert len(rows) == len(batched) == batched.rows() == 10
    assert len(rows[:3]) == len(rows[:3].batch(2)) == 3
    assert len(batched.to_numpy()) == len(list(batched.to_numpy())) == 3
    assert len(batched.to_numpy(rank=1, world_size=2)) == 2
    assert len(rows.batch(4, drop_last=True).to_numpy()) == 2
    assert len(rows.filter("row < 5")) == 5 and rows.filter("row < 5").plan.rows == 10
    stream = infeed.stream(lambda: iter([{"x": 1}]))
    with pytest.raises(TypeError, match="stream"):
        len(stream)


@pytest.mark.parametrize(
    ("module", "names", "needs"),
    [
        ("loader", ["Loader", "LoaderOptions", "Ledger", "Stats"], "numpy"),
        ("pipeline", ["Pipeline"], "numpy"),
        ("sources", ["open", "tar", "stream"], "numpy"),
        ("errors", ["PlanError"], "numpy"),
        ("torch", ["DataLoader", "DeviceLoader", "TorchLoader", "on_device"], "torch"),
        ("jax", ["JaxLoader"], "jax"),
        ("arrow_door", ["ArrowLoader"], "pyarrow"),
    ],
)
def test_public_modules(module, names, needs):
    """Public names stay importable, wherever the code is."""
    pytest.importorskip(needs)
    found = importlib.import_module(f"infeed.{module}")
    assert all(hasattr(found, name) for name in names)


def test_functions_hide_no_modules():
    """`infeed.world` is a function, and no module of that name is behind it."""
    modules = {path.stem for path in Path(infeed.__file__).parent.iterdir() if not path.name.startswith("_")}
    functions = {name for name in infeed.__all__ if inspect.isfunction(getattr(infeed, name))}
    assert {"open", "world", "generate"} <= functions and not functions & modules


@pytest.mark.parametrize(
    "first", ["sources", "doors.loader", "doors.options", "pipeline", "functions", "launch", "transforms"]
)
def test_modules_import_in_any_order(first):
    run = subprocess.run([sys.executable, "-c", f"import infeed.{first}"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
