"""Programs of other libraries with only the import of DataLoader changed: the same batches, the same training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sidebyside import LOADERS, alike  # noqa: E402
from torch.utils.data import DistributedSampler, TensorDataset  # noqa: E402

import infeed.torch  # noqa: E402

# What these libraries warn about is not infeed's.
pytestmark = pytest.mark.filterwarnings("ignore")
OURS = infeed.torch.DataLoader


def rows(count: int = 24) -> TensorDataset:
    noise = torch.Generator().manual_seed(1)
    return TensorDataset(torch.randn(count, 6, generator=noise), torch.randint(0, 3, (count,), generator=noise))


class Dicts(torch.utils.data.Dataset[Any]):
    """Samples as the transformers Trainer wants them; infeed does not know the data set."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> dict[str, Any]:
        x, y = rows()[index]
        return {"x": x, "labels": y}


class Lines(torch.utils.data.IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(torch.arange(10.0))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(6, 3)

    def forward(self, x: Any, labels: Any = None) -> Any:
        logits = self.layer(x)
        if labels is None:
            return logits
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> Any:
    accelerate = pytest.importorskip("accelerate")
    from accelerate.data_loader import DataLoaderAdapter

    monkeypatch.setattr(DataLoaderAdapter, "__init__", DataLoaderAdapter.__init__)
    return accelerate.Accelerator(cpu=True)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("data", [rows(), Dicts(), Lines()], ids=["native", "python", "iterable"])
def test_accelerate_keeps_the_loader(accelerator: Any, data: Any, workers: int) -> None:
    found = []
    options = {"batch_size": 5, "num_workers": workers}
    if not isinstance(data, Lines):
        options |= {"shuffle": True, "drop_last": True}
    for kind in LOADERS:
        torch.manual_seed(4)
        prepared = accelerator.prepare(kind(data, **options))
        found.append([list(prepared), list(prepared), len(prepared) if "shuffle" in options else None])
        assert type(prepared.base_dataloader) is kind
        assert isinstance(prepared, kind)
        # A prepared loader is prepared once.
        assert accelerator.prepare(prepared) is prepared
    alike(*found)


def test_accelerate_keeps_arguments_and_loaders_of_torch(accelerator: Any) -> None:
    from accelerate import skip_first_batches

    class Mine(infeed.torch.DataLoader[Any]):
        pass

    data = rows()
    ours = accelerator.prepare(Mine(data, batch_size=4, threads=1, share_lists=False))
    assert type(ours.base_dataloader) is Mine
    assert (ours.threads, ours.share_lists) == (1, False)
    assert ours.explain().startswith("native")
    theirs = accelerator.prepare(torch.utils.data.DataLoader(rows(), batch_size=4))
    assert type(theirs.base_dataloader) is torch.utils.data.DataLoader
    skipped = skip_first_batches(ours, 2)
    assert type(skipped.base_dataloader) is Mine
    alike(list(skip_first_batches(theirs, 2)), list(skipped))
    assert len(list(skipped)) == 4


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("split", [False, True])
def test_accelerate_splits_batches_among_ranks(accelerator: Any, rank: int, split: bool) -> None:
    from accelerate.data_loader import prepare_data_loader

    found = []
    for kind in LOADERS:
        loader = kind(rows(23), batch_size=4, generator=torch.Generator().manual_seed(3), shuffle=True)
        assert not getattr(loader, "_is_accelerate_prepared", False)
        prepared = prepare_data_loader(loader, num_processes=2, process_index=rank, split_batches=split)
        assert type(prepared.base_dataloader) is kind
        found.append([list(prepared), list(prepared)])
        if kind is OURS:
            assert prepared.explain().startswith("native")
    alike(*found)


def test_an_accelerate_that_is_not_known_is_told(accelerator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import accelerate.data_loader

    monkeypatch.delattr(accelerate.data_loader, "DataLoaderAdapter")
    with pytest.warns(UserWarning, match="infeed is not used"):
        assert OURS(rows())._is_accelerate_prepared is False


@pytest.mark.parametrize("workers", [0, 2])
def test_transformers_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    module = pytest.importorskip("transformers.trainer")
    found = []
    for kind in LOADERS:
        monkeypatch.setattr(module, "DataLoader", kind)
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=2,
            per_device_train_batch_size=5,
            dataloader_num_workers=workers,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        )
        trainer = transformers.Trainer(Model(), arguments, train_dataset=Dicts(), eval_dataset=Dicts())
        assert type(trainer.get_train_dataloader().base_dataloader) is kind
        assert type(trainer.get_eval_dataloader().base_dataloader) is kind
        trainer.train()
        losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
        found.append([losses, trainer.evaluate()["eval_loss"], trainer.predict(Dicts()).predictions])
        found[-1].append(dict(trainer.model.state_dict()))
    assert len(found[0][0]) == 10
    alike(*found)


@pytest.mark.parametrize("workers", [0, 2])
def test_lightning(workers: int) -> None:
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model, self.seen = Model(), []

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.model(*batch)["loss"]
            self.seen.append(loss.detach())
            return loss

        def validation_step(self, batch: Any, _: int) -> None:
            self.seen.append(self.model(*batch)["loss"].detach())

        def predict_step(self, batch: Any, _: int) -> Any:
            return self.model(batch[0])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    found = []
    for kind in LOADERS:
        lightning.seed_everything(5)
        module = Module()
        more = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
        trainer = lightning.Trainer(max_epochs=2, enable_model_summary=False, **more)
        options = {"batch_size": 5, "num_workers": workers, "persistent_workers": workers > 0}
        trainer.fit(module, kind(rows(), shuffle=True, **options), kind(rows(10), **options))
        assert type(trainer.train_dataloader) is kind
        # Lightning rebuilds the loader to know the indices of a prediction.
        predicted = trainer.predict(module, kind(rows(10), **options))
        assert type(trainer.predict_dataloaders) is kind
        found.append([module.seen, predicted, list(module.parameters())])
    alike(*found)


def _rank(rank: int, folder: str, workers: int) -> None:
    """One process of two: trains with both loaders, and leaves what it saw."""
    os.environ["MASTER_ADDR"], os.environ["USE_LIBUV"] = "127.0.0.1", "0"
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    found = []
    for kind in LOADERS:
        data = rows(23)
        model = torch.nn.parallel.DistributedDataParallel(Model())
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        sampler: Any = DistributedSampler(data, shuffle=True, seed=3)
        loader = kind(data, batch_size=4, sampler=sampler, num_workers=workers)
        seen = []
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                loss = model(x, y)["loss"]
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen.append([x, y, loss.detach()])
        found.append([seen, list(model.parameters())])
    torch.save([[seen, [p.detach() for p in last]] for seen, last in found], f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("workers", [0, 1])
def test_ddp_with_a_distributed_sampler(tmp_path: Path, workers: int) -> None:
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    torch.multiprocessing.spawn(_rank, (str(tmp_path), workers), nprocs=2)
    seen = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    for theirs, ours in seen:
        alike(theirs, ours)
        assert len(ours[0]) == 6
    assert not torch.equal(seen[0][1][0][0][0], seen[1][1][0][0][0])


@pytest.mark.parametrize(("workers", "prefetcher"), [(0, False), (0, True), (2, False), (2, True)])
def test_timm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, prefetcher: bool) -> None:
    timm = pytest.importorskip("timm.data")
    from PIL import Image

    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for at in range(4):
            pixels = np.random.default_rng(at).integers(0, 256, (40, 48, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / label / f"{at}.png")
    found = []
    for kind in LOADERS:
        with monkeypatch.context() as patch:
            # timm looks the class up when it makes a loader.
            patch.setattr(torch.utils.data, "DataLoader", kind)
            torch.manual_seed(2)
            loader = timm.create_loader(
                timm.create_dataset("", str(tmp_path)),
                input_size=(3, 32, 32),
                batch_size=3,
                is_training=True,
                no_aug=True,
                use_prefetcher=prefetcher,
                num_workers=workers,
                persistent_workers=False,
                device=torch.device("cpu"),
            )
            assert type(loader.loader if prefetcher else loader) is kind
            found.append([list(loader), list(loader)])
    assert len(found[0][0]) == 2
    alike(*found)
