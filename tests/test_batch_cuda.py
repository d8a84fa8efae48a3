"""Batches on a CUDA device: moving them and looking at them. On a GPU machine: `pytest tests/test_batch_cuda.py`."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from shown import GRAY, Page, augmented, stored

import infeed
from infeed.pipeline.sights import Sight

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

Pair = collections.namedtuple("Pair", "a b")
FIRST = torch.device("cuda", 0)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", 0, FIRST], ids=str)
def test_tensors_are_moved_and_equal(shards, device):
    batch = next(iter(augmented(shards).to_torch()))
    there = batch.to(device)
    assert type(there) is infeed.Batch and list(there) == list(batch)
    for name, tensor in batch.items():
        assert there[name].device == FIRST and tensor.device.type == "cpu"
        assert there[name].dtype == tensor.dtype and torch.equal(there[name].cpu(), tensor)
    assert there["__key__"] == batch["__key__"] and list(there["__row__"]) == list(batch["__row__"])
    assert all(torch.equal(back, batch[name]) for name, back in there.to("cpu").items())


def test_copies_that_do_not_wait(shards):
    stream = torch.cuda.Stream()
    for batch in augmented(shards).to_torch():
        with torch.cuda.stream(stream):
            there = batch.to("cuda", non_blocking=True)
        stream.synchronize()
        assert all(torch.equal(tensor.cpu(), batch[name]) for name, tensor in there.items())


def test_what_is_inside_is_moved_and_the_rest_stays():
    one = torch.ones(1)
    kept = infeed.Batch(t=["a"], x=[one, None], d={"y": one, "n": 3}, p=Pair(one, 2), q=(one,), a=np.ones(1))
    there = kept.to("cuda")
    moved = [there["x"][0], there["d"]["y"], there["p"].a, there["q"][0]]
    assert {tensor.device for tensor in moved} == {FIRST} and isinstance(there["p"], Pair)
    assert there["t"] == ["a"] and there["x"][1] is None and there["d"]["n"] == 3 and there["p"].b == 2
    assert there["a"] is kept["a"]


def test_a_device_that_is_not_there(shards):
    batch = next(iter(augmented(shards).to_torch()))
    with pytest.raises(RuntimeError):
        batch.to(torch.cuda.device_count())


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float16", "bfloat16", "bool"])
def test_words_are_those_of_the_host(dtype):
    tensor = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    host = infeed.Batch(x=tensor, rest=[tensor, tensor[:2]], one=tensor[0, 0])
    assert repr(host.to("cuda")) == repr(host) and dtype in repr(host)


def test_large_tensors_are_not_copied_back():
    batch = infeed.Batch(x=torch.zeros(64, 1024, 1024, device="cuda"), y=torch.ones(64, device="cuda"))
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    told = repr(batch)
    assert "float32  [64, 1024, 1024]  ~0" in told
    assert torch.cuda.max_memory_allocated() - before < 1 << 22, "only what is looked at is gathered"


def test_pages_are_those_of_the_host(shards):
    batch = next(iter(augmented(shards).to_torch()))
    there = batch.to("cuda")
    assert there._repr_html_() == batch._repr_html_()
    shown = Page(there._repr_html_()).images
    assert len(shown) == 8 and any(pixels.any() for _, pixels in shown)


def test_boxes_and_masks_are_drawn(tmp_path):
    batch = next(iter(stored(tmp_path).batch(3).to_torch()))
    there = batch.to("cuda")
    assert there._repr_html_() == batch._repr_html_()
    plain = infeed.Batch(image=torch.as_tensor(GRAY)[None].cuda(), boxes=torch.tensor([[[9.0, 9, 50, 50]]]).cuda())
    plain._sights = {"image": Sight("image"), "boxes": Sight("boxes")}
    (_, pixels), *_ = Page(plain._repr_html_()).images
    assert np.ptp(pixels.astype(int), axis=2).any(), "the box has a colour"


def test_files_of_what_lies_on_the_device(tmp_path, shards):
    batch = next(iter(augmented(shards).to_torch()))
    for name, thing in (("host", batch), ("device", batch.to("cuda"))):
        infeed.show.grid(thing, tmp_path / f"{name}.png")
        infeed.show.html(thing, tmp_path / f"{name}.html")
    for ending in ("png", "html"):
        assert (tmp_path / f"device.{ending}").read_bytes() == (tmp_path / f"host.{ending}").read_bytes()


def test_batches_of_a_loader_for_the_device(shards):
    host = next(iter(augmented(shards).to_torch()))
    there = next(iter(augmented(shards).to_torch(device="cuda")))
    assert repr(there) == repr(host) and there._repr_html_() == host._repr_html_()
    again = there.to("cuda")
    assert all(again[name].data_ptr() == tensor.data_ptr() for name, tensor in there.items()), "nothing to move"
