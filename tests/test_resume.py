"""States: a few integers that record exactly what was received, and can be resumed anywhere."""

from __future__ import annotations

import itertools
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import saved_states
from conftest import write_shards

import infeed
from infeed import transforms as T


def train(shards: str, size: int = 8, seed: int = 7, **batch) -> infeed.Pipeline:
    return (
        infeed.open(shards)
        .shuffle(seed=seed)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(24), T.RandomHorizontalFlip(), on="jpg")
        .batch(size, **batch)
    )


def contents(batches) -> list[tuple[bytes, bytes]]:
    return [(b["jpg"].tobytes(), b["__row__"].tobytes()) for b in batches]


def samples(batches) -> list[tuple[int, bytes]]:
    return [(int(row), x.tobytes()) for b in batches for row, x in zip(b["__row__"], b["jpg"], strict=True)]


def test_resume_is_continue_at_every_step(shards):
    """Bit for bit, including random augmentations, even with other threads; epochs end at the same steps."""
    loader = train(shards).to_numpy(threads=2)
    events, states = [], [loader.state_dict()]
    for _ in range(2):
        for batch in loader:
            events.append(contents([batch])[0])
            states.append(json.loads(json.dumps(loader.state_dict())))
        events.append("end")
        states.append(loader.state_dict())
    assert len(events) == 16
    for step, state in enumerate(states[:-1]):
        other = train(shards).to_numpy(threads=1 + step % 3)
        other.load_state_dict(state)
        after = []
        while len(after) < len(events) - step:
            after += [*contents(other), "end"]
        assert after[: len(events) - step] == events[step:], f"step {step}"


def test_states_are_small_and_plain(shards):
    loader = train(shards).to_numpy()
    next(iter(loader))
    state = loader.state_dict()
    text = json.dumps(state)
    assert len(text) < 500, text
    assert {type(v) for v in state.values()} <= {int, str}
    assert (state["epoch"], state["step"], state["place"]) == (0, 1, 8)


def test_prefetched_batches_do_not_count(shards):
    loader = train(shards).to_numpy(threads=2, prefetch=6)
    it = iter(loader)
    for step in range(1, 6):
        next(it)
        assert loader.state_dict()["step"] == step


def test_other_splits_of_the_batch(shards):
    """2 ranks of 16 resume as 4 ranks of 8, as 1 rank of 32, and as 3 ranks of 5."""

    def world(size, each):
        return [train(shards, each).to_numpy(rank=r, world_size=size, threads=1) for r in range(size)]

    def run(loaders, most=None):
        """Samples in the order of the global batches."""
        rounds = zip(*(itertools.islice(loader, most) for loader in loaders), strict=True)
        return [s for parts in rounds for s in samples(parts)]

    want = run(world(1, 32))
    first = world(2, 16)
    done = run(first, 1)
    assert done == want[:32]
    state = first[0].state_dict()
    assert state == first[1].state_dict()
    for size, each in [(4, 8), (1, 32), (3, 5), (2, 16)]:
        after = world(size, each)
        for loader in after:
            loader.load_state_dict(state)
        assert run(after) == want[32:], (size, each)


def test_set_epoch_after_loading(shards):
    """The usual loop calls set_epoch every epoch: it must not lose the place."""
    loader = train(shards).to_numpy(epoch=4)
    want = contents(loader)
    loader = train(shards).to_numpy(epoch=4)
    list(itertools.islice(loader, 3))
    other = train(shards).to_numpy()
    other.load_state_dict(loader.state_dict())
    other.set_epoch(4)
    assert contents(other) == want[3:]


def test_endless_and_steps_per_epoch(shards):
    straight = contents(itertools.islice(train(shards).to_numpy(endless=True), 20))
    with pytest.raises(TypeError, match="no length"):
        len(train(shards).to_numpy(endless=True))
    loader = train(shards).to_numpy(steps_per_epoch=5)
    assert len(loader) == 5
    laps = [contents(loader) for _ in range(4)]
    assert [len(lap) for lap in laps] == [5] * 4
    assert list(itertools.chain(*laps)) == straight
    with pytest.raises(ValueError, match="contradict"):
        train(shards).to_numpy(endless=True, steps_per_epoch=3)
    with pytest.raises(ValueError, match="at least 1"):
        train(shards).to_numpy(steps_per_epoch=0)


def test_states_that_do_not_fit(shards, tmp_path):
    state = train(shards).to_numpy().state_dict()
    cases = [
        (train(write_shards(tmp_path, 40)), "50 rows in 4 shards, and this one has 40 rows in 3 shards"),
        (train(shards, seed=8), r"\(seed 7\)`, and this one is .*\(seed 8\)"),
        (infeed.open(shards).take(40).batch(2), "its order was"),
        (infeed.open(shards).shuffle(seed=7).batch(8), "decoders, transforms or filters differ"),
        (infeed.open(shards).shuffle(seed=7).seed(1).batch(8), "seed of its transforms was 7, and this one is 1"),
    ]
    for pipeline, wanted in cases:
        with pytest.raises(infeed.StateError, match=wanted):
            pipeline.to_numpy().load_state_dict(state)
    infeed.open(shards).shuffle(seed=7).batch(8).to_numpy().load_state_dict(state, strict=False)
    for bad in [{}, {**state, "version": 99}, {**state, "place": 51}, {**state, "epoch": "x"}]:
        with pytest.raises(infeed.StateError):
            train(shards).to_numpy().load_state_dict(bad)


def test_the_same_data_elsewhere(tmp_path):
    """A copy of the data in another folder is the same data; other data with the same counts is not."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_shards(tmp_path / name, 20)
    state = train(str(tmp_path / "a" / "*.tar")).to_numpy().state_dict()
    train(str(tmp_path / "b" / "*.tar")).to_numpy().load_state_dict(state)
    (tmp_path / "c").mkdir()
    with infeed.ShardWriter(tmp_path / "c" / "train-%03d.tar", maxcount=16) as out:
        for i in range(20):
            out.write({"__key__": f"other{i}", "jpg": b"x", "cls": 1})
    with pytest.raises(infeed.StateError, match="another data set"):
        train(str(tmp_path / "c" / "*.tar")).to_numpy().load_state_dict(state)


def test_a_pickled_loader_goes_on(shards):
    loader = train(shards).to_numpy()
    want = contents(train(shards).to_numpy())
    list(itertools.islice(loader, 2))
    assert contents(pickle.loads(pickle.dumps(loader))) == want[2:]


def test_torch_distributed_checkpoint(shards, tmp_path):
    """The Stateful protocol: torch saves and loads the loader like a model."""
    pytest.importorskip("torch")
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.stateful import Stateful

    loader = train(shards).to_torch()
    assert isinstance(loader, Stateful)
    want = [b["__row__"].tolist() for b in train(shards).to_torch()]
    list(itertools.islice(loader, 3))
    # torch warns that it saves in a single process.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"loader": loader}, checkpoint_id=tmp_path / "ckpt", no_dist=True)
        other = train(shards).to_torch()
        dcp.load({"loader": other}, checkpoint_id=tmp_path / "ckpt", no_dist=True)
    assert [b["__row__"].tolist() for b in other] == want[3:]


def test_rows_out_of_order_are_caught_by_the_eye(shards):
    """``order`` shows what will come without reading."""
    pipeline = train(shards)
    rows = np.concatenate([b["__row__"] for b in pipeline.to_numpy(epoch=2)])
    assert pipeline.order(2).tolist() == rows.tolist()
    assert pipeline.order(2, 10, 14).tolist() == rows[10:14].tolist()


def test_lightning(shards, tmp_path):
    """Lightning saves the loader's state in the middle of an epoch and goes on from it."""
    pytest.importorskip("lightning")
    import lightning
    import torch

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.seen = []

        def training_step(self, batch):
            self.seen.append(batch["jpg"].numpy().tobytes())
            return (self.weight * batch["jpg"].float().mean()).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.0)

    def fit(steps, checkpoint=None):
        model, loader = Model(), train(shards).to_torch(threads=1, rank=0, world_size=1)
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
        # It warns about loaders, workers and clusters.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer = lightning.Trainer(max_steps=steps, enable_checkpointing=False, max_epochs=-1, **quiet)
            trainer.fit(model, loader, ckpt_path=checkpoint, weights_only=False)
            trainer.save_checkpoint(tmp_path / f"{steps}.ckpt")
        return model.seen

    straight = fit(12)
    assert len(straight) == 12
    assert fit(3) == straight[:3]
    assert fit(12, tmp_path / "3.ckpt") == straight[3:]


def test_batches_can_be_copied_and_sent(shards):
    batch = next(iter(train(shards).to_numpy()))
    for other in (pickle.loads(pickle.dumps(batch)), type(batch)(batch.items())):
        assert np.array_equal(other["jpg"], batch["jpg"])
        with pytest.raises(KeyError, match="does not know where it came from"):
            other["__row__"]


def test_ledgers_prove_epochs(shards):
    pipeline = train(shards, 4)
    loaders = [pipeline.to_numpy(rank=r, world_size=3, threads=1) for r in range(3)]
    for _ in range(2):
        for loader in loaders:
            list(loader)
    verdict = pipeline.verify(loader.ledger() for loader in loaders)
    assert verdict and str(verdict).count("50 rows, each exactly once") == 2
    assert len(json.dumps(loaders[0].ledger())) < 1000
    lacking = pipeline.verify([loaders[0].ledger(), loaders[2].ledger()], epoch=1)
    assert not lacking and "nothing from rank 1 of 3" in str(lacking)
    double = pipeline.verify([loader.ledger() for loader in [*loaders, loaders[0]]], epoch=0)
    assert not double and "2 times" in str(double)
    with pytest.raises(ValueError, match="does not belong"):
        train(shards, seed=8).verify([loaders[0].ledger()])
    with pytest.raises(ValueError, match="not a ledger"):
        pipeline.verify([{}])


def first_name(sample):
    return {"n": sample["n"]}


def second_name(sample):
    return {"n": sample["n"]}


def test_a_renamed_function_is_no_other_order():
    """The name of a function is not part of the order of a stream: ``strict=False`` resumes with another one."""
    rows = [{"n": n} for n in range(12)]
    state = infeed.stream(rows).map(first_name).batch(2).to_numpy().state_dict()
    renamed = infeed.stream(rows).map(second_name).batch(2)
    with pytest.raises(infeed.StateError, match="decoders, transforms or filters differ"):
        renamed.to_numpy().load_state_dict(state)
    renamed.to_numpy().load_state_dict(state, strict=False)


@pytest.mark.parametrize("file", sorted(saved_states.FOLDER.glob("*.json")), ids=lambda path: path.stem)
@pytest.mark.parametrize("case", saved_states.CASES)
def test_states_of_earlier_versions_resume(
    case: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows before the state, and after it, as the version that wrote it."""
    monkeypatch.chdir(tmp_path)
    kept = json.loads(file.read_text())[case]
    make, field = saved_states.CASES[case]
    pipeline = make(tmp_path)
    assert saved_states.rows(pipeline.to_numpy(threads=2), field, saved_states.BEFORE) == kept["before"]
    loader = pipeline.to_numpy(threads=2)
    loader.load_state_dict(kept["state"])
    assert saved_states.rows(loader, field, saved_states.AFTER) == kept["after"]
