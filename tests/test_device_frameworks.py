"""Batches from the device door in training frameworks."""

from __future__ import annotations

import textwrap
import warnings

import numpy as np
import pytest
from test_examples import run

import infeed

torch = pytest.importorskip("torch")


def pipe(rows=64, batch=8):
    x = np.random.default_rng(0).normal(size=(rows, 8)).astype(np.float32)
    return infeed.arrays(x=x, y=(x.sum(1) > 0).astype(np.int64)).shuffle(seed=1).batch(batch)


def test_compiled_step():
    """The layout of batches does not change from step to step, so nothing is compiled twice."""
    compiled = []

    def backend(graph, inputs):
        compiled.append(len(inputs))
        return graph.forward

    model = torch.compile(torch.nn.Linear(8, 2), backend=backend)
    loader = pipe().to_torch(device="cpu")
    for batch in [*loader, *loader]:
        torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"]).backward()
    assert len(compiled) == 1


def test_lightning(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 2)
            self.rows = 0

        def training_step(self, batch, index):
            self.rows += len(batch["y"])
            return torch.nn.functional.cross_entropy(self.layer(batch["x"]), batch["y"])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", default_root_dir=tmp_path, **quiet)
    model, loader = Model(), pipe().to_torch(device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice about worker processes, and its own deprecations
        trainer.fit(model, loader)
    assert model.rows == 128


def test_accelerate():
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    model = torch.nn.Linear(8, 2)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    # The loader knows its rank and device; only model and optimizer are prepared.
    for batch in pipe().to_torch(device=accelerator.device):
        accelerator.backward(torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"]))
        optimizer.step()


@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_two_ranks(tmp_path, way):
    """Every rank has its share of each global batch, and the wrapped model learns from it."""
    worker = tmp_path / "worker.py"
    worker.write_text(
        textwrap.dedent(
            """
            import sys, numpy as np, torch, torch.distributed as dist, infeed
            dist.init_process_group("gloo")
            x = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
            data = infeed.arrays(x=x, y=(x.sum(1) > 0).astype(np.int64)).shuffle(seed=1).batch(global_size=16)
            loader = data.to_torch(device="cpu")
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
            if sys.argv[1] == "ddp":
                model = torch.nn.parallel.DistributedDataParallel(model)
            else:
                from torch.distributed.device_mesh import init_device_mesh
                from torch.distributed.fsdp import fully_shard
                fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
            losses, rows = [], []
            for epoch in range(6):
                for batch in loader:
                    assert len(batch["y"]) == 8
                    loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"])
                    optimizer.zero_grad(); loss.backward(); optimizer.step()
                    losses.append(loss.item()); rows += batch["__row__"].tolist()
            everyone = [None, None]
            dist.all_gather_object(everyone, rows)
            assert sorted(everyone[0] + everyone[1]) == sorted(list(range(64)) * 6)
            assert losses[-1] < losses[0]
            print("learned", flush=True)
            dist.destroy_process_group()
            # Threads of gloo that still hold a tensor would abort the end of the interpreter (pytorch issue 190489).
            import os; os._exit(0)
            """
        )
    )
    command = ["-W", "ignore", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(worker), way]
    assert run(*command).count("learned") == 2
