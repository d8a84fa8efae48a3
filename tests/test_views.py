"""Several views of one image: own choices for each, one decode for all."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import encode, jpeg, photo

import infeed
from infeed import transforms as T


@pytest.fixture(scope="module")
def masked(tmp_path_factory) -> str:
    """Images whose mask is their green channel, both without loss."""
    folder = tmp_path_factory.mktemp("masked")
    with infeed.ShardWriter(folder / "train-%03d.tar") as out:
        for i in range(12):
            pixels = photo(60 + i, 50 + i, i)
            mask = encode(np.ascontiguousarray(pixels[..., 1]), "PNG")
            out.write({"__key__": f"s{i}", "img.png": encode(pixels, "PNG"), "mask.png": mask, "cls": i})
    return str(folder / "*.tar")


def dino(shards: str, **options) -> infeed.Pipeline:
    return (
        infeed.open(shards)
        .shuffle(seed=3)
        .decode(jpg="rgb", cls="int", **options)
        .views("jpg", 2, T.RandomResizedCrop(32, scale=(0.4, 1)), T.RandomHorizontalFlip(), to="global")
        .views("jpg", 3, T.RandomResizedCrop(16, scale=(0.05, 0.4)), to="local")
    )


VIEWS = ["global_0", "global_1", "local_0", "local_1", "local_2"]


def test_names_shapes_and_choices(shards):
    batch = next(iter(dino(shards).batch(8).to_numpy()))
    assert list(batch) == ["cls", *VIEWS]
    assert batch["global_0"].shape == (8, 32, 32, 3)
    assert batch["local_2"].shape == (8, 16, 16, 3)
    for a, b in [("global_0", "global_1"), ("local_0", "local_1"), ("local_1", "local_2")]:
        assert all((x != y).any() for x, y in zip(batch[a], batch[b], strict=True))
    plain = infeed.open(shards).decode(jpg="rgb").views("jpg", 2, T.RandomResizedCrop(8)).batch(4)
    assert {"jpg_0", "jpg_1"} < set(next(iter(plain.to_numpy())))


def test_a_view_is_the_crop_that_map_would_make(shards):
    """The first view's maps have the stage numbers of the same maps without views. Shared pixels are exact ones."""
    views = infeed.open(shards).seed(9).decode(jpg="rgb").select("jpg")
    alone = infeed.open(shards).seed(9).decode(jpg="rgb", exact=True).select("jpg")
    steps = (T.RandomResizedCrop(20), T.RandomHorizontalFlip())
    many = list(views.views("jpg", 2, *steps).batch(8).to_numpy())
    for got, want in zip(many, alone.map(*steps).batch(8).to_numpy(), strict=True):
        np.testing.assert_array_equal(got["jpg_0"], want["jpg"])
    # The second one's come after them, so two maps that change nothing put them there.
    nothing = (T.RandomHorizontalFlip(p=0), T.RandomVerticalFlip(p=0))
    for got, want in zip(many, alone.map(*nothing).map(*steps).batch(8).to_numpy(), strict=True):
        np.testing.assert_array_equal(got["jpg_1"], want["jpg"])


def test_shrinking_while_decoding_is_left_to_single_views(tmp_path):
    with infeed.ShardWriter(tmp_path / "big-%d.tar") as out:
        for i in range(3):
            out.write({"__key__": str(i), "jpg": jpeg(i, 640, 512)})
    data = infeed.open(str(tmp_path / "big-0.tar"))

    def pixels(pipe, name):
        return np.concatenate([b[name] for b in pipe.batch(3).to_numpy()])

    exact = pixels(data.decode(jpg="rgb", exact=True).map(T.Resize((24, 32))), "jpg")
    fast = pixels(data.decode(jpg="rgb").map(T.Resize((24, 32))), "jpg")
    assert (exact != fast).any()
    two = data.decode(jpg="rgb").views("jpg", 2, T.Resize((24, 32)))
    np.testing.assert_array_equal(pixels(two, "jpg_0"), exact)
    np.testing.assert_array_equal(pixels(two, "jpg_1"), exact)
    np.testing.assert_array_equal(pixels(data.decode(jpg="rgb").views("jpg", 1, T.Resize((24, 32))), "jpg_0"), fast)


def test_map_on_several_views_shares_choices(shards):
    data = infeed.open(shards).decode(jpg="rgb").select("jpg").map(T.CenterCrop(40)).views("jpg", 2)
    batch = next(iter(data.map(T.RandomResizedCrop(12), on=["jpg_0", "jpg_1"]).batch(9).to_numpy()))
    np.testing.assert_array_equal(batch["jpg_0"], batch["jpg_1"])
    batch = next(iter(data.map(T.RandomResizedCrop(12), on="jpg_1").batch(9).to_numpy()))
    assert batch["jpg_0"].shape[1:] == (40, 40, 3)
    assert batch["jpg_1"].shape[1:] == (12, 12, 3)


def test_masks_stay_aligned(masked):
    data = infeed.open(masked).seed(1).decode(**{"img.png": "rgb", "mask.png": "gray"}, cls="int")
    steps = (T.RandomCrop(24), T.RandomHorizontalFlip(), T.RandomVerticalFlip())
    pipe = data.views(["img.png", "mask.png"], 3, *steps, to=["img", "mask"]).batch(5)
    for batch in pipe.to_numpy():
        assert set(batch) == {"cls", *(f"{n}_{i}" for n in ("img", "mask") for i in range(3))}
        for i in range(3):
            np.testing.assert_array_equal(batch[f"img_{i}"][..., 1:2], batch[f"mask_{i}"])
        assert (batch["mask_0"] != batch["mask_1"]).any()


def test_keep(shards):
    data = infeed.open(shards).decode(jpg="rgb").map(T.CenterCrop(30), on="jpg")

    def fields(pipe):
        return set(next(iter(pipe.batch(4).to_numpy())))

    assert fields(data.views("jpg", 1)) == {"cls", "jpg_0"}
    assert fields(data.views("jpg", 1, keep=True)) == {"cls", "jpg", "jpg_0"}
    assert fields(data.views("jpg", 1, to="a", keep=True).views("jpg", 1, to="b")) == {"cls", "jpg", "a_0", "b_0"}
    assert fields(data.views("jpg", 1, to="a").views("jpg", 1, to="b", keep=True)) == {"cls", "jpg", "a_0", "b_0"}
    assert fields(data.views("jpg", 1, keep=True).views("jpg_0", 2, to="b").select("b_1", "cls")) == {"cls", "b_1"}
    later = data.views("jpg", 1, keep=True).map(T.CenterCrop(10), on="jpg").batch(4)
    batch = next(iter(later.to_numpy()))
    np.testing.assert_array_equal(batch["jpg"], batch["jpg_0"][:, 10:20, 10:20])


def test_threads_and_resume(shards):
    pipe = dino(shards).batch(8)

    def digest(batch):
        return b"".join(batch[name].tobytes() for name in VIEWS)

    whole = [digest(b) for b in pipe.to_numpy(threads=1)]
    assert [digest(b) for b in pipe.to_numpy(threads=16)] == whole
    loader = pipe.to_numpy(threads=2)
    for number, _ in enumerate(loader):
        if number == 1:
            state = loader.state_dict()
            break
    again = pipe.to_numpy()
    again.load_state_dict(state)
    assert [digest(b) for b in again] == whole[2:]
    with pytest.raises(ValueError, match="transforms"):
        infeed.open(shards).shuffle(seed=3).batch(8).to_numpy().load_state_dict(state)


def test_filters_select_and_tuples(shards):
    pipe = (
        infeed.open(shards)
        .decode(jpg="rgb", cls="int")
        .filter("jpg.width >= 120")
        .views("jpg", 2, T.RandomResizedCrop(8))
        .filter("cls < 5")
        .select("cls", "jpg_1")
        .batch(50)
    )
    batch = next(iter(pipe.to_numpy()))
    want = [i for i in range(50) if 90 + i % 7 * 10 >= 120 and i % 10 < 5]
    assert batch["__row__"].tolist() == want
    assert list(batch) == ["cls", "jpg_1"]
    first, second = next(iter(dino(shards).batch(4).to_tuple("local_1", "global_0").to_numpy()))
    assert (first.shape, second.shape) == ((4, 16, 16, 3), (4, 32, 32, 3))


def test_joins_and_streams(shards):
    def part(rows):
        return infeed.open(shards)[rows].decode(jpg="rgb", cls="int").views("jpg", 2, T.RandomResizedCrop(8))

    joined = infeed.concat([part(slice(0, 20)), part(slice(20, 50))]).views("jpg_0", 2, to="more").batch(50)
    batch = next(iter(joined.to_numpy()))
    assert list(batch) == ["cls", "jpg_1", "more_0", "more_1"]
    np.testing.assert_array_equal(batch["more_0"], batch["more_1"])
    rows = [{"__key__": str(i), "jpg": jpeg(i), "cls": str(i).encode()} for i in range(10)]
    stream = infeed.stream(lambda: rows).decode(jpg="rgb").views("jpg", 2, T.RandomResizedCrop(8)).batch(10)
    batch = next(iter(stream.to_numpy()))
    assert (batch["jpg_0"] != batch["jpg_1"]).any()
    with pytest.raises(infeed.PlanError, match="has no field `jpg_0`"):
        infeed.concat([part(slice(0, 20)), infeed.open(shards).decode(cls="int")]).plan  # noqa: B018
    with pytest.raises(infeed.PlanError, match="make views after joining"):
        infeed.concat([infeed.open(shards)[:20].views("jpg", 1), infeed.open(shards)]).plan  # noqa: B018


def test_bad_samples_follow_the_policy(tmp_path):
    with infeed.ShardWriter(tmp_path / "a-%d.tar") as out:
        for i in range(6):
            data = jpeg(i)
            out.write({"__key__": str(i), "jpg": data[: len(data) // 3] if i == 2 else data})
    pipe = infeed.open(str(tmp_path / "a-0.tar")).decode(jpg="rgb").views("jpg", 2, T.RandomResizedCrop(8)).batch(6)
    with pytest.raises(infeed.SampleError) as caught:
        list(pipe.to_numpy())
    assert caught.value.row == 2
    (batch,) = pipe.to_numpy(on_error="skip")
    assert batch["__row__"].tolist() == [0, 1, 3, 4, 5]


def test_explain_and_repr(shards):
    pipe = dino(shards).batch(4)
    text = pipe.explain()
    assert "view of jpg" in text
    assert "only for its views" in text
    assert "local_2: array u8[batch, 16, 16, 3]" in text
    assert repr(pipe)
    assert infeed.Pipeline(pipe.recipe) == pipe


def test_bad_arguments(shards):
    data = infeed.open(shards).decode(jpg="rgb", cls="int")
    with pytest.raises(ValueError, match="at least 1"):
        data.views("jpg", 0)
    with pytest.raises(TypeError, match="whole number"):
        data.views("jpg", 2.5)
    with pytest.raises(ValueError, match="one name in to="):
        data.views(["jpg", "cls"], 2, to="a")
    with pytest.raises(TypeError, match="functions, got 3"):
        data.views("jpg", 2, 3)
    for pipe, message in [
        (data.views("nope", 2), "there is no field `nope`"),
        (data.views("jpg", 2).views("jpg", 2), "cannot be called `jpg_0`"),
        (data.views("jpg", 2).map(T.CenterCrop(3), on="jpg"), "views were made of it"),
        (data.views("jpg", 2).select("jpg"), "views were made of it"),
        (infeed.open(shards).views("jpg", 2, T.CenterCrop(3)), "decode it first"),
        (infeed.open(shards).views("jpg", 2, keep=True).decode(jpg="rgb"), "decode before"),
    ]:
        with pytest.raises(infeed.PlanError, match=message):
            pipe.explain()
