"""Python functions in pipelines, and wrapped objects: results, randomness, errors, resume."""

import random
import time
import traceback

import numpy as np
import pytest

import infeed
from infeed import transforms as T

RUNNERS = ["consumer", "threads", "processes"]
X = np.arange(40, dtype=np.float32).reshape(20, 2)
Y = np.arange(20)


def rows():
    return infeed.arrays(x=X, y=Y, t=[f"text {i}" for i in range(20)])


def double(sample):
    return {**sample, "x": sample["x"] * 2}


def even(sample):
    return sample["y"] % 2 == 0


def noisy(sample):
    return {"y": sample["y"], "a": random.random(), "b": np.random.rand(), "c": random.randrange(100)}


def with_rng(sample, rng):
    return {"y": sample["y"], "a": rng.random()}


def fails_at_seven(sample):
    if sample["y"] == 7:
        raise LookupError("seven is not wanted")
    return sample


class Squares:
    """A data set as users write them."""

    def __len__(self):
        return 20

    def __getitem__(self, row):
        return np.full((3,), row * row, dtype=np.float32), row


@pytest.fixture(params=RUNNERS)
def runner(request):
    return {"workers": request.param, "num_workers": 1 if request.param == "consumer" else 2}


def all_of(loader, *names):
    batches = list(loader)
    return [np.concatenate([np.asarray(b[n]) for b in batches]) for n in names]


def test_map_filter_and_batches(runner):
    pipe = rows().shuffle(seed=3).map(double).filter(even).batch(6)
    with pipe.to_numpy(**runner) as loader:
        batches = list(loader)
    assert len(batches) == 4
    order = pipe.order()
    for step, batch in enumerate(batches):
        expected = [row for row in order[step * 6 : step * 6 + 6] if row % 2 == 0]
        assert list(batch["y"]) == expected == list(batch["__row__"])
        np.testing.assert_array_equal(batch["x"], X[expected] * 2)
        assert batch["t"] == [f"text {row}" for row in expected]
        assert batch["__key__"] == [str(row) for row in expected]


def test_flat_map_keeps_steps(runner):
    pipe = rows().map(_only_y).flat_map(_as_often_as_it_says).batch(4)
    with pipe.to_numpy(**runner) as loader:
        batches = list(loader)
    assert len(batches) == 5
    # The first batch has the rows 0 to 3: row 0 became nothing, row 3 three samples.
    assert list(batches[0]["y"]) == [1, 2, 2, 3, 3, 3] == list(batches[0]["__row__"])


def _only_y(sample):
    return {"y": int(sample["y"])}


def _as_often_as_it_says(sample):
    return [sample] * sample["y"]


def test_on_fields_and_batches(runner):
    pipe = (
        rows()
        .map(_negative, on="x")
        .map(_swap_sum, on=["x", "y"])
        .filter(_below_ten, on="y")
        .batch(5)
        .map_batch(_add_mean)
        .map_batch(_plus_one, on="x")
    )
    with pipe.to_numpy(**runner) as loader:
        batch = next(iter(loader))
    np.testing.assert_array_equal(batch["x"], -X[:5] - Y[:5, None] + 1)
    assert batch["mean"] == pytest.approx(2.0)


def _negative(x):
    return -x


def _swap_sum(pair):
    x, y = pair
    return x - y, y


def _below_ten(y):
    return y < 10


def _add_mean(batch):
    return {**batch, "mean": float(batch["y"].mean())}


def _plus_one(x):
    return x + 1


def test_collate_and_tuples(runner):
    pipe = rows().map(double).batch(4, collate=_sum_of_all)
    with pipe.to_numpy(**runner) as loader:
        assert [int(v) for v in loader] == [int(2 * X[i : i + 4].sum()) for i in range(0, 20, 4)]
    with rows().map(double).batch(4).to_tuple("y", "x").to_numpy(**runner) as loader:
        y, x = next(iter(loader))
    np.testing.assert_array_equal(x, X[:4] * 2)
    assert list(y) == [0, 1, 2, 3]


def test_functions_after_to_tuple(runner):
    pipe = rows().map(double).batch(4).map_batch(_plus_one, on="x").to_tuple("x", "y").map_batch(_swapped)
    with pipe.to_numpy(**runner) as loader:
        y, x = next(iter(loader))
    np.testing.assert_array_equal(x, X[:4] * 2 + 1)
    assert list(y) == [0, 1, 2, 3]


def _swapped(pair):
    return pair[1], pair[0]


def _sum_of_all(samples):
    return sum(s["x"].sum() for s in samples)


def test_randomness_has_an_address():
    """The same row gets the same random numbers in any runner, in any batch, and after a resume."""
    found = {}
    for kind in ("consumer", "processes"):
        for size in (3, 7):
            pipe = rows().shuffle(seed=1).map(noisy).batch(size)
            with pipe.to_numpy(workers=kind, num_workers=2) as loader:
                y, a, b, c = all_of(loader, "y", "a", "b", "c")
            found[kind, size] = {int(k): (u, v, w) for k, u, v, w in zip(y, a, b, c, strict=True)}
    assert all(f == found["consumer", 3] for f in found.values())
    assert len({v[0] for v in found["consumer", 3].values()}) == 20


@pytest.mark.parametrize("kind", RUNNERS)
def test_a_function_may_ask_for_a_generator(kind):
    pipe = rows().shuffle(seed=1).map(with_rng).batch(4)
    with pipe.to_numpy(workers=kind, num_workers=2) as loader:
        y, first = all_of(loader, "y", "a")
        _, second = all_of(loader, "y", "a")
    with pipe.to_numpy(workers="consumer") as loader:
        y2, again = all_of(loader, "y", "a")
    np.testing.assert_array_equal(y, y2)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(np.sort(first), np.sort(second))


def test_the_consumer_s_generators_are_its_own():
    random.seed(5)
    np.random.seed(5)
    expected = random.random(), np.random.rand()
    random.seed(5)
    np.random.seed(5)
    with rows().map(noisy).batch(4).to_numpy(workers="consumer") as loader:
        list(loader)
    assert (random.random(), np.random.rand()) == expected


def test_errors_say_where(runner):
    with rows().map(fails_at_seven).batch(4).to_numpy(**runner) as loader:
        batches = iter(loader)
        assert list(next(batches)["y"]) == [0, 1, 2, 3]
        with pytest.raises(LookupError, match="seven is not wanted") as caught:
            next(batches)
    told = "".join(traceback.format_exception(caught.value))
    assert "map(fails_at_seven) failed on shard 'arrays', row 7" in told
    assert "in fails_at_seven" in told
    assert 'raise LookupError("seven is not wanted")' in told


def test_bad_rows_can_be_left_out(runner):
    with rows().map(fails_at_seven).batch(4).to_numpy(on_error="skip", ledger_rows=True, **runner) as loader:
        (y,) = all_of(loader, "y")
        stats, verdict = loader.stats(), loader.pipeline.verify([loader.ledger()])
    assert sorted(y) == [i for i in range(20) if i != 7]
    assert stats["bad_samples"] == 1
    assert "seven is not wanted" in str(stats)
    assert verdict, str(verdict)
    with pytest.raises(ValueError, match="replace"):
        rows().map(double).batch(4).to_numpy(on_error="replace")


def test_resume_is_continue(runner):
    pipe = rows().shuffle(seed=9).map(with_rng).filter(even).batch(3)
    with pipe.to_numpy(**runner) as loader:
        whole = [(list(b["y"]), list(b["a"])) for _ in range(2) for b in loader]
    for stop in (0, 1, 4, 6, 7):
        with pipe.to_numpy(**runner) as loader:
            batches = iter(loader)
            seen = [next(batches) for _ in range(stop)]
            state = loader.state_dict()
            del batches
        with pipe.to_numpy(**runner) as again:
            again.load_state_dict(state)
            rest = list(again) + (list(again) if again.epoch == 1 else [])
        assert [(list(b["y"]), list(b["a"])) for b in [*seen, *rest]] == whole
    with pytest.raises(infeed.StateError, match="strict"):
        rows().shuffle(seed=9).map(double).batch(3).to_numpy().load_state_dict(state)


def test_the_ledger_knows_what_functions_left_out(runner):
    pipe = rows().shuffle(seed=9).map(double).filter(even).batch(3)
    with pipe.to_numpy(ledger_rows=True, **runner) as loader:
        list(loader)
        ledger = loader.ledger()
    assert pipe.verify([ledger])


def test_native_transforms_after_a_function(runner):
    images = np.random.default_rng(0).integers(0, 256, (6, 20, 30, 3), dtype=np.uint8)
    pipe = infeed.arrays(image=images, images=["image"])
    steps = [T.RandomCrop(16), T.Normalize([0.5] * 3, [0.2] * 3)]
    native = pipe.map(*steps, on="image").batch(6)
    python = pipe.map(_same, on="image").map(*steps, on="image").batch(6)
    with python.to_numpy(**runner) as loader:
        batch = next(iter(loader))["image"]
    expected = next(iter(native.to_numpy()))["image"]
    assert batch.shape == expected.shape == (6, 3, 16, 16)
    assert batch.dtype == expected.dtype == np.float32
    with pytest.raises(infeed.PlanError, match="move it down"):
        _ = pipe.map(_same, on="image").select("image").plan


def _same(image):
    return image


def test_transforms_are_functions_too():
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    assert T.CenterCrop(10)(image).shape == (10, 10, 3)
    np.testing.assert_array_equal(T.CenterCrop([20, 30])(image), image)
    crop = T.RandomCrop(8)
    np.testing.assert_array_equal(crop(image, seed=4), crop(image, seed=4))
    assert any(not np.array_equal(crop(image), crop(image)) for _ in range(20))
    with pytest.raises(TypeError, match="u8 images"):
        crop(image.astype(np.float32))


def test_wrap_keeps_what_samples_are(runner):
    pipe = infeed.wrap(Squares()).shuffle(seed=2).batch(8)
    assert pipe.rows() == 20
    assert "made in Python" in pipe.explain()
    with pipe.to_numpy(**runner) as loader:
        assert len(loader) == 3
        batches = list(loader)
    order = pipe.order()
    np.testing.assert_array_equal(np.concatenate([b[1] for b in batches]), order)
    np.testing.assert_array_equal(np.concatenate([b[0] for b in batches])[:, 0], (order**2).astype(np.float32))


def test_wrap_in_joins_and_order(runner):
    both = infeed.concat([infeed.wrap(Squares()), infeed.wrap(list(range(100, 110)))])
    with both.batch(1).to_numpy(**runner) as loader:
        seen = [b for b in loader]
    assert len(seen) == 30
    assert seen[3][1].tolist() == [3]
    assert seen[20].tolist() == [100]
    with both.subset([25, 1]).batch(1).to_numpy(**runner) as loader:
        assert next(iter(loader)).tolist() == [105]


def test_wrap_of_iterables_and_what_cannot_be_wrapped():
    with infeed.wrap(_Pairs()).batch(2).to_numpy() as loader:
        assert [b["1"].tolist() for b in loader] == [[0, 10], [20]]
    with pytest.raises(TypeError, match="__getitem__"):
        infeed.wrap(3)


class _Pairs:
    def __iter__(self):
        return iter([(np.zeros(2), 0), (np.ones(2), 10), (np.ones(2), 20)])


class Many(Squares):
    """A data set that can give many rows at once."""

    def __getitems__(self, rows):
        return [self[row] for row in rows]


class TooFew(Squares):
    def __getitems__(self, rows):
        return [self[row] for row in rows[1:]]


def test_many_rows_at_once(runner):
    with infeed.wrap(Many()).batch(8).to_numpy(**runner) as loader:
        np.testing.assert_array_equal(np.concatenate([b[1] for b in loader]), np.arange(20))
    with (
        infeed.wrap(TooFew()).batch(8).to_numpy(**runner) as loader,
        pytest.raises(ValueError, match="7 samples for 8"),
    ):
        next(iter(loader))


def test_bad_descriptions():
    with pytest.raises(TypeError, match="map takes"):
        rows().map(3)
    with pytest.raises(TypeError, match="flat_map takes a function"):
        rows().flat_map(None)
    with pytest.raises(ValueError, match="before the Python functions"):
        rows().map(double).filter("y > 3")
    with pytest.raises(ValueError, match="cannot be saved"):
        rows().map(double).save("x.json")
    with pytest.raises(ValueError, match="workers must be"):
        rows().map(double).batch(2).to_numpy(workers="fibers")
    with pytest.raises(ValueError, match="num_workers"):
        rows().map(double).batch(2).to_numpy(num_workers=0)
    with pytest.raises(infeed.PlanError, match="join first"):
        _ = infeed.concat([rows().map(double), rows()]).plan
    with (
        rows().map(_uneven).batch(4).to_numpy() as loader,
        pytest.raises(ValueError, match="samples of one batch differ"),
    ):
        next(iter(loader))


def _uneven(sample):
    return {"y": 1} if sample["y"] else {"z": 2}


def test_everything_filtered_is_an_empty_batch(runner):
    pipe = rows().map(double).filter(_small).batch(10)
    with pipe.to_numpy(**runner) as loader:
        first, second = list(loader)
    assert len(first["y"]) == 10
    assert second["x"].shape == (0, 2)


def _small(sample):
    return sample["y"] < 10


def test_ragged_results(runner):
    with rows().map(_long).batch(3).to_numpy(**runner) as loader:
        batch = next(iter(loader))
    assert [len(a) for a in batch["a"]] == [0, 1, 2]
    with rows().map(_long).batch(3, ragged="pad", pad_value=-1).to_numpy(**runner) as loader:
        batch = next(iter(loader))
    np.testing.assert_array_equal(batch["a"], [[-1, -1], [0, -1], [0, 1]])


def _long(sample):
    return {"a": np.arange(int(sample["y"]))}


def test_leaving_in_the_middle_and_starting_again(runner):
    with rows().map(double).batch(2).to_numpy(**runner) as loader:
        for _ in range(5):
            batches = iter(loader)
            next(batches)
            del batches
        loader.set_epoch(0)
        assert len(list(loader)) == 10


def test_stats_tell_of_functions():
    with rows().map(double).batch(2).to_numpy() as loader:
        list(loader)
        assert "python functions" in str(loader.stats())
        assert loader.stats()["python"]["workers"] == "threads"


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_function_that_hangs_is_named_after_the_stall_timeout(workers):
    def hang(sample):
        if int(sample["x"]) == 6:
            time.sleep(5)
        return sample

    data = infeed.arrays(x=np.arange(20)).map(hang).batch(2)
    loader = data.to_numpy(workers=workers, num_workers=2, multiprocessing_context="fork", stall_timeout=0.5)
    kind = "thread" if workers == "threads" else "worker process"
    with pytest.raises(TimeoutError, match=f"no {kind} finished a task within 0.5 seconds"):
        list(loader)
    loader.close()
