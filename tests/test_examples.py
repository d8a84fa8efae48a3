"""The examples run as they are written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import jpeg

import infeed

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_resume(tmp_path):
    """Interrupted on two ranks, continued on three, and proved."""
    pytest.importorskip("torch")
    try:
        interrupted_and_resumed(tmp_path / "first")
    except AssertionError as failed:
        # A thread of gloo aborts the process now and then while its interpreter ends, after all work is done.
        if "terminate called without an active exception" not in str(failed):
            raise
        interrupted_and_resumed(tmp_path / "second")


def interrupted_and_resumed(tmp_path: Path) -> None:
    tmp_path.mkdir()
    script, folder = str(EXAMPLES / "resume.py"), str(tmp_path / "run")
    torchrun = ["-m", "torch.distributed.run", "--standalone"]
    run(*torchrun, "--nproc-per-node=2", script, folder, "--stop-after", "7")
    out = run(*torchrun, "--nproc-per-node=3", script, folder)
    assert "epoch 1:" in out
    ledgers = sorted(str(p) for p in (tmp_path / "run").glob("ledger-*.json"))
    assert len(ledgers) == 5
    verdict = json.loads(run("-m", "infeed", "verify-epoch", f"{folder}/recipe.json", *ledgers, "--json"))
    assert verdict["exact"] is True


def test_llm_blend(tmp_path):
    """Raw text to batches of tokens; the script itself compares the resumed batches with those of the first run."""
    script, folder = str(EXAMPLES / "llm_blend.py"), str(tmp_path / "run")
    out = run(script, folder, "--steps", "12", "--length", "32", "--batch", "8")
    assert "resumed at step 6: 6 batches, byte for byte the same" in out
    assert "resumed as two ranks: the same global batches" in out
    assert "packed on the way: int64[8, 32]" in out
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "tokens").iterdir()}
    assert len([path for path in stamps if path.suffix == ".idx"]) == 3
    run(script, folder, "--steps", "4", "--length", "16", "--batch", "8")
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}, "tokenised once"


def test_mlm(tmp_path):
    """The script itself checks that the loss of hidden tokens fell by half."""
    pytest.importorskip("torch")
    out = run(str(EXAMPLES / "mlm.py"), str(tmp_path / "run"), "--steps", "60")
    assert "labels: array i64, padded with -100" in out and "attention_mask: array bool" in out
    assert "after 60 steps" in out and (tmp_path / "run" / "tokenizer.json").exists()


def test_segmentation():
    """The script itself checks that the model is better than the most frequent class."""
    pytest.importorskip("torch")
    out = run(str(EXAMPLES / "segmentation.py"))
    assert "pixel accuracy" in out and "mean IoU" in out


def test_diffusion_fields(tmp_path):
    """The script itself checks that the loss fell."""
    pytest.importorskip("torch")
    pytest.importorskip("scipy")
    out = run(str(EXAMPLES / "diffusion_fields.py"), "--folder", str(tmp_path / "fields"))
    assert "t2m: mean" in out and '"steps": 150' in out
    assert (tmp_path / "fields" / "stats.json").exists()


def test_detection():
    """The script itself checks that boxes overlap more than before, and that classes are right."""
    pytest.importorskip("torch")
    out = run(str(EXAMPLES / "detection.py"))
    assert "mean IoU of true boxes" in out and "classes right" in out


def test_image_text():
    """The script itself checks retrieval, and that no image attends to another in the packed sequence."""
    pytest.importorskip("torch")
    out = run(str(EXAMPLES / "image_text.py"))
    assert "retrieval:" in out and "in one sequence" in out and "with thumbnails" in out


def test_interleaved():
    """The script itself checks that words are told from the images before them."""
    pytest.importorskip("torch")
    out = run(str(EXAMPLES / "interleaved.py"))
    assert "unseen documents:" in out and "step 140: loss" in out


def test_events(tmp_path):
    """The script itself checks that it tells signal from background."""
    for module in ("torch", "uproot", "awkward"):
        pytest.importorskip(module)
    out = run(str(EXAMPLES / "events.py"), str(tmp_path / "run"))
    assert "Particle_pt: float32[64, " in out and "accuracy" in out


def test_forecasting():
    """The script itself checks that the model is better than persistence."""
    pytest.importorskip("torch")
    pytest.importorskip("zarr")
    out = run(str(EXAMPLES / "forecasting.py"))
    assert "windows of 3 steps" in out and "of persistence" in out


def test_patches3d():
    """The script itself checks that the grid covers the volume, and that the network is better than a threshold."""
    pytest.importorskip("torch")
    pytest.importorskip("h5py")
    out = run(str(EXAMPLES / "patches3d.py"))
    assert "step 40: loss" in out and "Dice of a whole volume" in out


def test_ssl_views(tmp_path):
    """Learns without labels; the script itself checks that neighbours are alike more often than before."""
    pytest.importorskip("torch")
    out = run(str(EXAMPLES / "ssl_views.py"), str(tmp_path / "run"))
    assert "step 40: loss" in out
    before, after = map(int, re.findall(r"(\d+)%", out))
    assert after > before + 10, out


@pytest.mark.parametrize("kind", ["tar", "folder"])
def test_imagenet(tmp_path, kind):
    """Interrupted in an epoch, continued to the end of the next, evaluated; every image counts once."""
    pytest.importorskip("torch")
    for part, rows in (("train", 44), ("val", 21)):
        folder = tmp_path / "data" / part
        if kind == "tar":
            folder.mkdir(parents=True)
            with infeed.ShardWriter(folder / "part-%02d.tar", maxcount=16) as out:
                for i in range(rows):
                    out.write({"__key__": f"{i:04d}", "jpg": jpeg(i, 48, 40), "cls": i % 4})
        else:
            for i in range(rows):
                path = folder / f"class{i % 4}" / f"{i:04d}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(jpeg(i, 48, 40))
    run_ = str(tmp_path / "run")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    # With class folders as one rank, and twice the batch: the same global batches.
    train = [*(torchrun if kind == "tar" else []), str(EXAMPLES / "imagenet.py")]
    train += ["--batch-size", "4" if kind == "tar" else "8"]
    train += [str(tmp_path / "data"), "--model", "resnet18", "--size", "32", "--classes", "4"]
    train += [
        "--threads",
        "1",
        "--device",
        "cpu",
        "--channels-last",
        "--mixup",
        "0.2",
        "--warmup",
        "1",
        "--output",
        run_,
    ]
    assert "accuracy" not in run(*train, "--epochs", "1", "--checkpoint-every", "2", "--stop-after", "3")
    out = run(*train, "--epochs", "2", "--resume", f"{run_}/checkpoint.pt", "--print-every", "1")
    # 44 images are five steps of eight; the checkpoint was taken after two of them.
    assert "epoch 0 step 2:" in out and "epoch 0 step 1:" not in out and "epoch 1 step 4:" in out
    assert "images/s" in out and "epoch 1: accuracy" in out and "of 21 images" in out
