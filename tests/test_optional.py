"""Fields that a sample may lack."""

from __future__ import annotations

import io
import json
import pickle

import numpy as np
import pytest
from PIL import Image

import infeed
from infeed import transforms as T

NAMES = [f"{i:02d}.png" for i in range(3)]


def png(value: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.full((16 + value, 20, 3), value, np.uint8)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> str:
    """Twelve documents of no to three images; the first has none."""
    folder = tmp_path_factory.mktemp("optional")
    with infeed.ShardWriter(folder / "data-%02d.tar", maxcount=5) as out:
        for row in range(12):
            images = {name: png(10 * row + i) for i, name in enumerate(NAMES[: row % 4])}
            out.write({"__key__": f"{row:03d}", "cls": row, **images})
    return str(folder / "data-*.tar")


def documents(shards: str) -> infeed.Pipeline:
    data = infeed.open(shards).decode(cls="int").decode(optional=True, **dict.fromkeys(NAMES, "rgb"))
    return data.map(T.Resize((8, 8)), on=NAMES)


def values(batch: dict) -> dict[int, list[int]]:
    """The images that each document of a batch has, by the value that they are painted with."""
    found = {}
    for at, row in enumerate(batch["cls"]):
        images = [batch[name][at] for name in NAMES]
        assert all(image is None or tuple(image.shape) in ((8, 8, 3), (3, 8, 8)) for image in images)
        found[int(row)] = [int(image.max()) for image in images if image is not None]
    return found


WANTED = {row: [10 * row + i for i in range(row % 4)] for row in range(12)}


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("door", ["to_numpy", "to_torch", "to_jax"])
def test_missing_fields_are_none(shards, door, size):
    pytest.importorskip(door[3:])
    found = {}
    pipeline = documents(shards).shuffle(seed=1)
    for batch in getattr(pipeline.batch(size), door)():
        found |= values(batch)
    assert found == WANTED


def test_without_a_batch_stage(shards):
    batches = list(documents(shards).to_numpy())
    assert batches[0]["00.png"] == [None]
    assert {k: v for batch in batches for k, v in values(batch).items()} == WANTED


def test_functions_see_none(shards):
    def count(sample):
        return {"row": sample["cls"], "images": sum(sample[name] is not None for name in NAMES)}

    for batch in documents(shards).map(count).batch(4).to_numpy():
        assert batch["images"].tolist() == [row % 4 for row in batch["row"]]


def test_views_and_filters(shards):
    data = infeed.open(shards).decode(cls="int").decode(optional=True, **{"00.png": "rgb"}).select("cls", "00.png")
    data = data.views("00.png", 2, to="v").map(T.Resize((8, 8)), on=["v_0", "v_1"]).filter("cls < 6")
    seen = {}
    for batch in data.batch(6).to_numpy():
        for row, a, b in zip(batch["cls"], batch["v_0"], batch["v_1"], strict=True):
            assert (a is None) == (b is None) == (row % 4 == 0)
            seen[int(row)] = None if a is None else a.max() == b.max() == 10 * row
    assert seen == {row: None if row % 4 == 0 else True for row in range(6)}


def test_a_resumed_run_goes_on(shards):
    def shown(batch) -> str:
        return str(values(batch))

    whole = [shown(batch) for batch in documents(shards).shuffle(seed=3).batch(3).to_numpy()]
    with documents(shards).shuffle(seed=3).batch(3).to_numpy() as loader:
        running = iter(loader)
        first = [shown(next(running))]
        state = loader.state_dict()
    with documents(shards).shuffle(seed=3).batch(3).to_numpy() as loader:
        loader.load_state_dict(state)
        assert first + [shown(batch) for batch in loader] == whole


def test_the_recipe_keeps_it(shards, tmp_path):
    pipeline = documents(shards).batch(2)
    again = pickle.loads(pickle.dumps(pipeline))
    assert "optional" in again.explain()
    assert again.explain() == pipeline.explain()
    pipeline.save(tmp_path / "recipe.json")
    assert json.loads((tmp_path / "recipe.json").read_text())["stage"][1]["optional"] is True


def test_without_optional_the_row_is_named(shards):
    with pytest.raises(infeed.SampleError, match=r"row 0, key `000`, field `00.png`.*decode\(optional=True\)"):
        list(infeed.open(shards).decode(**{"00.png": "rgb"}).to_numpy())


def test_damage_is_still_damage(tmp_path):
    with infeed.ShardWriter(tmp_path / "data-%02d.tar") as out:
        out.write({"__key__": "a", "png": png(1)})
        out.write({"__key__": "b", "png": png(1)[:40]})
    data = infeed.open(str(tmp_path / "data-*.tar")).decode(optional=True, png="rgb")
    with pytest.raises(infeed.SampleError, match="key `b`, field `png`"):
        list(data.to_numpy())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.batch(2, ragged={"00.png": "pad"}), "optional, and stays a list"),
        (lambda d: d.batch(2).map_batch(T.MixUp(num_classes=12, label="cls")), "`00.png` is optional"),
    ],
)
def test_what_needs_every_sample_is_refused(shards, make, message):
    with pytest.raises(infeed.PlanError, match=message):
        _ = make(documents(shards)).plan


def test_targets_are_not_optional(shards):
    with pytest.raises(infeed.PlanError, match="cannot be optional"):
        _ = infeed.open(shards).decode(optional=True, **{"00.png": "mask"}).plan


def test_an_image_with_targets_is_not_optional(tmp_path):
    with infeed.ShardWriter(tmp_path / "data-%02d.tar") as out:
        out.write({"__key__": "a", "png": png(1), "seg.png": png(1)})
    data = infeed.open(str(tmp_path / "data-*.tar")).decode(**{"seg.png": "mask"}).decode(optional=True, png="rgb")
    with pytest.raises(infeed.PlanError, match="optional"):
        _ = data.map(T.RandomHorizontalFlip()).plan
