"""Which rank this process is: by hand, by a framework, by the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import infeed

pytestmark = pytest.mark.timeout(300)

LAUNCHERS = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_",
    "NODE_RANK",
    "INFEED_",
    "OMPI_",
    "PMI",
    "MPI_",
    "MV2_",
    "PALS_",
    "SLURM_",
)


def bare(**more: str) -> dict[str, str]:
    """This environment without the variables of launchers."""
    return {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)} | more


def python(code: str, **env: str) -> str:
    """What a fresh interpreter with this environment prints."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    run = subprocess.run(command, capture_output=True, text=True, env=bare(**env), timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout


SHOW = """
import infeed
w = infeed.world()
print(w.rank, w.size, w.local_rank, w.local_size, w.source)
print(w)
"""


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in list(os.environ):
        if name.startswith(LAUNCHERS) and name != "INFEED_CACHE":
            monkeypatch.delenv(name)


def test_alone():
    world = infeed.world()
    assert (world.rank, world.size, world.local_rank, world.local_size) == (0, 1, 0, 1)
    assert str(world) == world.explain() == "rank 0 of 1 (local 0 of 1): no framework or launcher says otherwise"


def test_by_hand(monkeypatch):
    world = infeed.world(1, 4)
    assert world == infeed.World(1, 4, 0, 1, "arguments")
    assert str(world) == "rank 1 of 4 (local 0 of 1), from arguments: assumed to be the only rank of its node"
    assert infeed.world(np.int64(1), np.int32(4)) == world
    # It wins over the environment, which may know the local rank if it agrees.
    for name, value in {"RANK": 1, "WORLD_SIZE": 4, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 2}.items():
        monkeypatch.setenv(name, str(value))
    world = infeed.world(rank=1, world_size=4)
    assert (world.source, world.local_rank, world.local_size) == ("arguments", 1, 2)
    assert "the local rank is that of torchrun" in str(world) and "and they agree" in str(world)
    world = infeed.world(rank=0, world_size=4)
    assert (world.local_rank, world.local_size) == (0, 1)
    assert "torchrun: RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2: passed over" in str(world)
    assert "here it would be rank 1 of 4" in str(world)
    # Errors in the environment matter only if it is used.
    monkeypatch.setenv("RANK", "x")
    assert "RANK=x is not a whole number" in str(infeed.world(0, 1))
    with pytest.raises(ValueError, match="RANK=x is not a whole number"):
        infeed.world()


@pytest.mark.parametrize(
    ("rank", "size", "error", "says"),
    [
        (0, 0, ValueError, "at least 1, got 0"),
        (0, -2, ValueError, "at least 1, got -2"),
        (4, 4, ValueError, "ranks go from 0 to 3"),
        (-1, 4, ValueError, "no rank -1"),
        (0, None, ValueError, "go together"),
        (None, 4, ValueError, "go together"),
        (1.0, 4, TypeError, "rank must be a whole number"),
        (0, "4", TypeError, "world_size must be a whole number"),
        (True, 4, TypeError, "rank must be a whole number"),
    ],
)
def test_nonsense_by_hand(rank, size, error, says):
    with pytest.raises(error, match=says):
        infeed.world(rank, size)


def test_environment():
    slurm = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "2"}
    torchrun = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    first, text, other = python(SHOW, **torchrun, **slurm).splitlines()
    assert first == "3 4 1 2 torchrun"
    assert text.startswith("rank 3 of 4 (local 1 of 2), from torchrun: RANK=3 WORLD_SIZE=4 LOCAL_RANK=1")
    assert other.startswith("  SLURM: SLURM_PROCID=1") and other.endswith("here it would be rank 1 of 2")
    assert python(SHOW, **slurm).startswith("1 2 0 1 SLURM\n")
    # A batch script is one process, whatever it may start.
    assert python(SHOW, SLURM_NTASKS="8", SLURM_PROCID="0").startswith("0 1 0 1 ")


def test_environment_set_by_python(monkeypatch):
    """Many scripts fill ``os.environ`` themselves."""
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(ValueError, match=r"RANK=1 .* WORLD_SIZE .* INFEED_RANK and INFEED_WORLD_SIZE"):
        infeed.world()
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert infeed.world().rank == 1


def test_command(monkeypatch):
    monkeypatch.setenv("INFEED_RANK", "2")
    monkeypatch.setenv("INFEED_WORLD_SIZE", "3")
    command = [sys.executable, "-m", "infeed", "world"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("rank 2 of 3 (local 0 of 1), from by hand: INFEED_RANK=2") and "threads: " in shown
    found = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert (found["world"]["rank"], found["world"]["size"], found["seen"][0]["launcher"]) == (2, 3, "by hand")
    assert found["threads"] >= 1


GLOO = """
import torch.distributed as dist, tempfile, os
folder = tempfile.mkdtemp()
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
"""


@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
def test_torch():
    assert python(GLOO + SHOW).splitlines() == [
        "0 1 0 1 torch.distributed",
        "rank 0 of 1 (local 0 of 1), from torch.distributed",
    ]
    # It is right even where the environment says otherwise.
    lines = python(GLOO + SHOW, RANK="1", WORLD_SIZE="2").splitlines()
    assert lines[0] == "0 1 0 1 torch.distributed"
    assert lines[2].endswith("passed over: torch.distributed comes first; here it would be rank 1 of 2")
    # Imported but not initialised: no opinion.
    assert python("import torch.distributed" + SHOW, RANK="1", WORLD_SIZE="2").startswith("1 2 0 1 torchrun\n")


@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
def test_torchrun(tmp_path):
    """The real launcher, before and after its processes find each other."""
    script = tmp_path / "train.py"
    script.write_text(
        "import infeed, torch.distributed as dist\n"
        "a = infeed.world()\n"
        "dist.init_process_group('gloo')\n"
        "b = infeed.world()\n"
        "dist.destroy_process_group()\n"
        "line = f'{a.rank}/{a.size} {a.local_rank}/{a.local_size} {a.source} '\n"
        "line += f'{b.rank}/{b.size} {b.local_rank}/{b.local_size} {b.source}\\n'\n"
        f"open(rf'{tmp_path}/{{a.rank}}.txt', 'w').write(line)\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, env=bare(), timeout=300)
    assert run.returncode == 0, run.stderr
    for rank in range(2):
        place = f"{rank}/2 {rank}/2"
        assert (tmp_path / f"{rank}.txt").read_text() == f"{place} torchrun {place} torch.distributed\n"


MPIEXEC = Path(sys.executable).with_name("mpiexec")


@pytest.mark.skipif(not MPIEXEC.exists(), reason="needs mpiexec")
def test_mpiexec():
    # In one piece: mpiexec passes on what it gets, and lines that come in parts mix.
    show = (
        "import infeed, os; w = infeed.world();"
        ' os.write(1, f"{w.rank} {w.size} {w.local_rank} {w.local_size}\\n".encode())'
    )
    command = [str(MPIEXEC), "-n", "3", sys.executable, "-c", show]
    run = subprocess.run(command, capture_output=True, text=True, env=bare(), timeout=300)
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == ["0 3 0 3", "1 3 1 3", "2 3 2 3"]


@pytest.mark.skipif(find_spec("jax") is None, reason="needs JAX")
def test_jax():
    code = """
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    import jax, infeed
    print(infeed.world().source)
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=1, process_id=0)
    print(infeed.world())
    from jax._src import xla_bridge
    print(xla_bridge.backends_are_initialized())
    """
    assert python(code).splitlines() == ["nobody", "rank 0 of 1 (local 0 of 1), from JAX", "False"]


@pytest.mark.skipif(find_spec("ray") is None or find_spec("pandas") is None, reason="needs Ray Train")
@pytest.mark.parametrize("version", ["0", "1"])
def test_ray(version, tmp_path):
    code = f"""
    import ray, ray.train
    from ray.train.data_parallel_trainer import DataParallelTrainer
    import infeed
    print(infeed.world().source)
    def loop(config=None):
        import infeed
        world = infeed.world()
        with open({str(tmp_path)!r} + f"/{{world.rank}}.txt", "w") as f:
            f.write(f"{{world.rank}}/{{world.size}} {{world.local_rank}}/{{world.local_size}} {{world.source}}")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    if {version} == 1:
        from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
    run = ray.train.RunConfig(storage_path={str(tmp_path)!r})
    DataParallelTrainer(loop, scaling_config=ray.train.ScalingConfig(num_workers=2), run_config=run).fit()
    """
    assert python(code, RAY_TRAIN_V2_ENABLED=version, RAY_AUTH_MODE="disabled").splitlines()[0] == "nobody"
    for rank in range(2):
        assert (tmp_path / f"{rank}.txt").read_text() == f"{rank}/2 {rank}/2 Ray Train"
