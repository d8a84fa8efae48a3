"""Events of particle physics: jagged branches of ROOT files, padded per batch, and a small network over sets.

    python examples/events.py                    # makes events in a temporary folder, trains for some seconds
    python examples/events.py run --epochs 10    # keeps the files in the folder `run`

An event has any number of particles. Background has soft ones that go anywhere; signal has two hard ones more, which
go in opposite directions. A batch has

* ``Particle_pt``, ``Particle_eta``, ``Particle_phi``: float32[batch, longest], padded with 0
* ``label``: int32, 1 for signal

A particle always has a momentum, so that `pt > 0` is the mask of what is not padding.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import awkward as ak
import numpy as np
import torch
import uproot
from torch import nn

import infeed

BRANCHES = ["Particle_pt", "Particle_eta", "Particle_phi", "label"]


def write(path: Path, events: int, seed: int) -> None:
    """Writes events as a tree, some hundred a basket."""
    rng = np.random.default_rng(seed)
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        jagged = {name: "var * float32" for name in BRANCHES[:-1]}
        file.mktree("Events", {**jagged, "label": np.dtype("i4")})
        for first in range(0, events, 500):
            labels = rng.integers(0, 2, min(500, events - first)).astype("i4")
            made = [particles(rng, int(label)) for label in labels]
            columns = {name: ak.Array([event[k] for event in made]) for k, name in enumerate(BRANCHES[:-1])}
            file["Events"].extend({**columns, "label": labels})


def particles(rng: np.random.Generator, label: int) -> list[np.ndarray]:
    """Momentum, angle to the beam and angle around it."""
    count = int(rng.poisson(6)) + 1 + 2 * label
    pt = rng.exponential(12, count) + 1
    eta, phi = rng.normal(0, 1.5, count), rng.uniform(-np.pi, np.pi, count)
    if label:
        pt[:2] = rng.normal(40, 5, 2)
        phi[1] = np.remainder(phi[0] + rng.normal(0, 0.2) + 2 * np.pi, 2 * np.pi) - np.pi
    order = rng.permutation(count)
    return [column[order].astype("f4") for column in (pt, eta, phi)]


class Sets(nn.Module):
    """Each particle by itself, then their sum."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.one = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.all = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """The logit of signal."""
        pt, eta, phi = (batch[name] for name in BRANCHES[:-1])
        parts = torch.stack([pt / 20, eta, torch.cos(phi), torch.sin(phi)], dim=-1)
        found = self.one(parts) * (pt > 0).unsqueeze(-1)
        return self.all(found.sum(dim=1)).squeeze(-1)


def batches(pattern: Path) -> infeed.Pipeline:
    """Events of some files."""
    return infeed.root(pattern, tree="Events", branches=BRANCHES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        for k in range(3):
            write(folder / f"train-{k}.root", 2000, k)
        write(folder / "test.root", 1500, 9)
        model = Sets()
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        loader = batches(folder / "train-*.root").shuffle(seed=17).batch(64, ragged="pad").to_torch()
        for epoch in range(args.epochs):
            losses = []
            for batch in loader:
                if epoch == 0 and not losses:
                    pt = batch["Particle_pt"]
                    print(f"Particle_pt: {str(pt.dtype).removeprefix('torch.')}[{', '.join(map(str, pt.shape))}]")
                loss = nn.functional.binary_cross_entropy_with_logits(model(batch), batch["label"].float())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            print(f"epoch {epoch}: loss {np.mean(losses):.3f}")
        right, count = 0, 0
        with torch.no_grad():
            for batch in batches(folder / "test.root").batch(100, ragged="pad").to_torch():
                right += int(((model(batch) > 0) == (batch["label"] > 0)).sum())
                count += len(batch["label"])
    print(f"accuracy {right / count:.2f} on {count} events")
    if count != 1500 or right < 0.85 * count:
        raise SystemExit("it did not learn")


if __name__ == "__main__":
    main()
