"""The stage `cache`: what comes out is the same with and without, whatever happens to the cache."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import encode, jpeg, photo, write_shards

import infeed
from infeed import decoders as D
from infeed import transforms as T

HERE = Path(__file__).parent


def epochs(pipeline: infeed.Pipeline, count: int = 2, **options) -> list[dict[str, object]]:
    """Everything that some epochs hand out, in order."""
    out = []
    loader = pipeline.to_numpy(**options)
    for _ in range(count):
        for batch in loader:
            out.append({name: plain(batch[name]) for name in [*batch, "__row__"]})
    return out


def plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def uses(loader: infeed.Loader) -> dict:
    (used,) = loader.stats()["sample_caches"]
    return used


def disk(tmp_path: Path, **options) -> dict:
    return {"tier": "disk", "path": tmp_path / "cache", **options}


def cached(pipeline: infeed.Pipeline, how: dict) -> infeed.Pipeline:
    return pipeline.cache(how["tier"], **{name: value for name, value in how.items() if name != "tier"})


def images(shards: str) -> infeed.Pipeline:
    return infeed.open(shards).shuffle(seed=3).decode(jpg="rgb", cls="int").map(T.Resize(64), on="jpg")


def augmented(pipeline: infeed.Pipeline) -> infeed.Pipeline:
    return pipeline.map(T.RandomCrop(48), T.RandomHorizontalFlip(), on="jpg").batch(7)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("tier", ["memory", "disk"])
def test_a_cache_changes_nothing(shards, tmp_path, tier, threads):
    how = {"tier": "memory", "limit": "64MB"} if tier == "memory" else disk(tmp_path)
    plain = epochs(augmented(images(shards)), threads=threads)
    pipeline = augmented(cached(images(shards), how))
    loader = pipeline.to_numpy(threads=threads)
    assert epochs(pipeline, threads=threads) == plain
    for _ in range(2):
        list(loader)
    used = uses(loader)
    assert used["tier"] == tier
    assert used["hits"] >= 100 and used["samples"] == 50 and 0 < used["bytes"] <= used["limit"]
    assert f"cache      {tier}: " in str(loader.stats())
    assert f"cache {tier}" in pipeline.explain() and "for all processes of this machine" in pipeline.explain()


AFTER = {
    "resized again": lambda p: p.map(T.RandomHorizontalFlip(), T.RandomResizedCrop(32), on="jpg"),
    "padded": lambda p: p.map(T.RandomCrop(80, padding=30), T.Resize(20), on="jpg"),
    "colours": lambda p: p.map(T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomErasing(), on="jpg"),
    "views": lambda p: p.views("jpg", 2, T.RandomResizedCrop(24)),
    "views later": lambda p: p.map(T.RandomCrop(40), on="jpg").views("jpg", 3, T.RandomResizedCrop(24)),
    "finished": lambda p: p.map(T.ToDtype("float32", scale=True), T.Normalize((0.5,) * 3, (0.2,) * 3), on="jpg"),
}
BEFORE = {
    "encoded": lambda p: p,
    "decoded": lambda p: p.decode(jpg="rgb"),
    "exact": lambda p: p.decode(jpg="rgb", exact=True),
    "resized": lambda p: p.decode(jpg="rgb").map(T.Resize((50, 60)), on="jpg"),
    "cut": lambda p: p.decode(jpg="rgb").map(T.Resize(60), T.CenterCrop(44), on="jpg"),
    "finished": lambda p: p.decode(jpg="gray").map(T.Resize((50, 60)), T.ToDtype("float16", scale=True), on="jpg"),
}


@pytest.mark.parametrize("before", BEFORE)
def test_whatever_stands_before_and_behind(tmp_path, before):
    shards = write_shards(tmp_path, 12)
    for name, after in AFTER.items():
        if before == "finished" and name in ("colours", "finished"):
            continue
        start = BEFORE[before](infeed.open(shards).shuffle(seed=1))
        rest = lambda p, after=after: after(p.decode(jpg="rgb") if before == "encoded" else p).batch(5)  # noqa: E731
        wanted = epochs(rest(start))
        for _ in range(2):
            assert epochs(rest(start.cache("disk", path=tmp_path / name))) == wanted, (before, name)


def test_pixels_are_kept_where_that_is_exact(tmp_path, shards):
    def size(pipeline):
        loader = pipeline.cache("disk", path=tmp_path / "c").batch(8, ragged="list").to_numpy()
        list(loader)
        return uses(loader)["bytes"], loader.explain()

    lazy, words = size(infeed.open(shards).decode(jpg="rgb"))
    exact, _ = size(infeed.open(shards).decode(jpg="rgb", exact=True))
    assert lazy < exact / 2
    assert "jpg are kept encoded" in words and "exact=True" in words
    assert "kept encoded" not in infeed.open(shards).decode(jpg="rgb", exact=True).cache("memory").explain()


def test_all_kinds_of_fields(tmp_path):
    extra = {
        "txt": lambda i: f"sample {i} ü" * (i % 4),
        "json": lambda i: {"a": [i, 0.1 * i], "b": None},
        "npy": lambda i: np.arange(i % 5, dtype=np.float16),
        "png": lambda i: encode(photo(20, 20, i)[..., 0], "PNG"),
        "raw": lambda i: bytes([i] * (i % 3)),
    }
    shards = write_shards(tmp_path, 20, **extra)
    start = infeed.open(shards).decode(jpg="rgb", png="gray", cls="int", txt="text", json="json", npy="npy")
    start = start.map(T.Resize((30, 40)), on=["jpg"]).filter("cls != 3").shuffle(seed=4)

    def rest(pipeline):
        return pipeline.filter("json.a.0 > 2").map(T.RandomCrop(20), on="jpg").batch(4, ragged="list")

    wanted = epochs(rest(start))
    for _ in range(2):
        assert epochs(rest(start.cache("disk", path=tmp_path / "c")), threads=3) == wanted
    # Fewer fields are other samples.
    assert epochs(start.cache("disk", path=tmp_path / "c").select("txt", "cls", "json").batch(4)) == epochs(
        start.select("txt", "cls", "json").batch(4)
    )


def test_boxes_and_masks_follow(tmp_path):
    extra = {
        "boxes": lambda i: json.dumps([[2, 3, 30 + i, 40], [50, 50, 60, 70]]).encode(),
        "mask": lambda i: encode(np.full((80 + i % 5 * 12, 90 + i % 7 * 10), i % 9, np.uint8), "PNG"),
    }
    shards = write_shards(tmp_path, 12, **extra)
    start = infeed.open(shards).decode(jpg="rgb", mask="mask", boxes=D.boxes(format="xyxy", along=[]))
    start = start.select("jpg", "mask", "boxes").map(T.Resize((60, 70))).shuffle(seed=2)

    def rest(pipeline):
        return pipeline.map(T.RandomHorizontalFlip(), T.RandomCrop(40)).batch(4, ragged="list")

    wanted = epochs(rest(start))
    for _ in range(2):
        assert epochs(rest(start.cache("disk", path=tmp_path / "c"))) == wanted


def test_texts_and_tables(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"text": f"line {i} " * (i % 7), "n": i}) + "\n" for i in range(40)))
    pipeline = infeed.jsonl(str(rows)).shuffle(seed=1)
    wanted = epochs(pipeline.batch(8, ragged="list"))
    for _ in range(2):
        assert epochs(pipeline.cache("disk", path=tmp_path / "c").batch(8, ragged="list")) == wanted
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"x": list(range(50)), "t": [f"t{i}" for i in range(50)]}), tmp_path / "t.parquet")
    table = infeed.parquet(str(tmp_path / "t.parquet"), where="x > 9").shuffle(seed=1)
    wanted = epochs(table.batch(8))
    for _ in range(2):
        assert epochs(table.cache("disk", path=tmp_path / "c").batch(8)) == wanted


def test_folders_and_loaded_files(tmp_path):
    folder = tmp_path / "images"
    for i in range(8):
        place = folder / f"class{i % 2}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.jpg").write_bytes(jpeg(i))
    (tmp_path / "t.csv").write_text("path,n\n" + "".join(f"class{i % 2}/{i}.jpg,{i}\n" for i in range(8)))
    folders = infeed.open(str(folder)).decode(image="rgb").map(T.Resize((20, 20)))
    table = infeed.csv(str(tmp_path / "t.csv")).load("path", root=str(folder), to="image")
    table = table.decode(image="rgb").map(T.Resize((20, 20)), on="image")
    for seed, pipeline in enumerate((folders, table), 50):
        keep = pipeline.cache("disk", path=tmp_path / "c").batch(4)
        for _ in range(2):
            assert epochs(keep, 1) == epochs(pipeline.batch(4), 1)
        # One file changes, under the same name and with the same size of image.
        before = epochs(keep, 1)
        (folder / "class1/3.jpg").write_bytes(jpeg(seed))
        assert epochs(keep, 1) == epochs(pipeline.batch(4), 1) != before
        loader = keep.to_numpy()
        list(loader)
        assert uses(loader)["misses"] == 0 and uses(loader)["hits"] >= 8


def test_ranks_share_one_cache(shards, tmp_path):
    code = """
import sys, json, hashlib, infeed
sys.path[:0] = [sys.argv[4]]
from test_sample_cache import images, augmented
rank = int(sys.argv[3])
loader = augmented(images(sys.argv[1]).cache("disk", path=sys.argv[2])).to_numpy(rank=rank, world_size=2)
out = []
for epoch in range(3):
    out.append([hashlib.sha256(batch["jpg"].tobytes()).hexdigest() for batch in loader])
(used,) = loader.stats()["sample_caches"]
print(json.dumps([out, used]))
"""
    command = [sys.executable, "-c", code, shards, str(tmp_path / "c")]
    ranks = [
        subprocess.Popen([*command, str(rank), str(HERE)], stdout=subprocess.PIPE, text=True) for rank in range(2)
    ]
    found = [json.loads(rank.communicate(timeout=120)[0]) for rank in ranks]
    for rank, (batches, _) in enumerate(found):
        loader = augmented(images(shards)).to_numpy(rank=rank, world_size=2)
        assert batches == [[hashlib.sha256(b["jpg"].tobytes()).hexdigest() for b in loader] for _ in range(3)]
    assert uses(augmented(images(shards).cache("disk", path=tmp_path / "c")).to_numpy())["samples"] == 50
    # Each sample is made once, or twice where both needed it at once; never in every epoch.
    assert sum(used["misses"] for _, used in found) <= 100


def test_a_state_knows_nothing_of_the_cache(shards, tmp_path):
    with_cache = augmented(images(shards).cache("disk", path=tmp_path / "c"))
    without = augmented(images(shards))
    whole = epochs(without, 2)
    for first, second in [(with_cache, without), (without, with_cache), (with_cache, with_cache)]:
        loader = first.to_numpy()
        for step, _ in enumerate(loader, 1):
            if step == 4:
                break
        state = loader.state_dict()
        resumed = second.to_numpy()
        resumed.load_state_dict(state)
        rest = [{n: plain(b[n]) for n in [*b, "__row__"]} for _ in range(2) for b in resumed]
        assert rest == whole[4:]
    assert with_cache.plan.hash != without.plan.hash  # the recipe says it, the state does not


def test_recipes_hold_it(shards, tmp_path):
    pipeline = augmented(images(shards).cache("disk", path=tmp_path / "c", limit="1MB"))
    stage = next(stage for stage in pipeline.recipe["stage"] if stage["op"] == "cache")
    assert stage == {"op": "cache", "tier": "disk", "path": str(tmp_path / "c"), "limit": 10**6}
    pipeline.save(tmp_path / "recipe.json")
    again = infeed.Pipeline(json.loads((tmp_path / "recipe.json").read_text()))
    assert epochs(again, 1) == epochs(pipeline, 1)


def test_changed_data_and_stages_are_never_mixed_up(tmp_path):
    cache = tmp_path / "c"
    shards = write_shards(tmp_path, 10)
    for size in (30, 31):
        pipeline = infeed.open(shards).decode(jpg="rgb").map(T.Resize((size, size)), on="jpg")
        assert epochs(pipeline.cache("disk", path=cache).batch(5)) == epochs(pipeline.batch(5))
    before = epochs(pipeline.batch(5))
    for old in tmp_path.glob("*.tar"):
        old.unlink()
    with infeed.ShardWriter(tmp_path / "train-%03d.tar", maxcount=16) as out:
        for i in range(10):
            out.write({"__key__": f"s{i:05d}", "jpg": jpeg(100 + i, 90 + i % 7 * 10, 80 + i % 5 * 12), "cls": i % 10})
    pipeline = infeed.open(shards).decode(jpg="rgb").map(T.Resize((31, 31)), on="jpg")
    after = epochs(pipeline.batch(5))
    assert after != before
    assert epochs(pipeline.cache("disk", path=cache).batch(5)) == after


def test_what_cannot_be_kept_is_refused(shards, tmp_path):
    data = infeed.open(shards).decode(jpg="rgb", cls="int")
    with pytest.raises(infeed.PlanError, match=r"`RandomCrop`, which is random.*behind cache"):
        data.map(T.RandomCrop(20), on="jpg").cache("memory").batch(4).explain()
    with pytest.raises(ValueError, match=r"Python function `map.*double"):

        def double(sample):
            return sample

        data.map(double).cache("memory")
    with pytest.raises(infeed.PlanError, match="before batch"):
        data.select("cls").batch(4).cache("memory").explain()
    with pytest.raises(infeed.PlanError, match="one cache is enough"):
        data.cache("memory").cache("memory").explain()
    with pytest.raises(infeed.PlanError, match="cannot tell whether its data has changed"):
        infeed.arrays({"x": np.arange(10)}).cache("memory").batch(2).explain()
    with pytest.raises(infeed.PlanError, match="stream"):
        infeed.open(f"pipe:cat {Path(shards).parent}/train-000.tar").cache("memory").explain()
    with pytest.raises(ValueError, match="needs a folder"):
        data.cache("disk")
    with pytest.raises(ValueError, match="takes no path"):
        data.cache("memory", path=tmp_path)
    with pytest.raises(ValueError, match='"memory" or "disk"'):
        data.cache("/nvme/cache")  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="must be a folder"):
        data.cache("disk", path=tmp_path / "file").explain()


def bad_shards(folder: Path) -> str:
    """Some images are cut short, one is no image, one sample has none."""
    with infeed.ShardWriter(folder / "bad-%03d.tar", maxcount=8) as out:
        for i in range(16):
            image = jpeg(i)
            image = image[: len(image) // 2] if i in (2, 9) else b"no image" if i == 5 else image
            out.write({"__key__": f"s{i}", "cls": i, **({} if i == 11 else {"jpg": image})})
    return str(folder / "bad-*.tar")


@pytest.mark.parametrize("policy", ["skip", "replace", "raise"])
def test_bad_samples_stay_bad(tmp_path, policy):
    start = infeed.open(bad_shards(tmp_path)).decode(jpg="rgb", cls="int").shuffle(seed=5)
    for resized in (True, False):
        one = start.map(T.Resize((30, 30)), on="jpg") if resized else start

        def rest(pipeline):
            return pipeline.map(T.RandomResizedCrop(20), on="jpg").batch(4)

        def run(pipeline):
            loader = pipeline.to_numpy(on_error=policy)
            out = []
            for _ in range(2):
                try:
                    out += [{n: plain(b[n]) for n in [*b, "__row__"]} for b in loader]
                except infeed.SampleError as error:
                    out.append(str(error))
            bad = [(bad["row"], bad["error"]) for bad in loader.stats()["bad"]]
            return out, sorted(set(bad)) if policy != "raise" else None

        wanted = run(rest(one))
        for _ in range(2):
            keep = rest(one.cache("disk", path=tmp_path / f"c{resized}"))
            assert run(keep) == wanted
        assert uses(keep.to_numpy())["samples"] <= 12


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.data"))


def test_damaged_samples_are_made_again(shards, tmp_path):
    cache = tmp_path / "c"
    pipeline = augmented(images(shards).cache("disk", path=cache))
    wanted = epochs(pipeline, 1)
    for path in entries(cache):
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 255
        path.write_bytes(content[:-1000])
    command = [sys.executable, "-m", "infeed", "cache", "verify", str(cache), "--json"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert found.returncode == 1 and 2 <= len(json.loads(found.stdout)["samples"]["damaged"]) <= 6
    again = augmented(images(shards).cache("disk", path=cache))
    loader = again.to_numpy()
    assert [{n: plain(b[n]) for n in [*b, "__row__"]} for b in loader] == wanted
    list(loader)
    assert uses(loader)["damaged"] >= 2
    assert epochs(augmented(images(shards).cache("disk", path=cache)), 1) == wanted


def test_half_the_room_keeps_half_the_samples(shards, tmp_path):
    loader = augmented(images(shards).cache("disk", path=tmp_path / "all")).to_numpy()
    list(loader)
    limit = uses(loader)["bytes"] // 2
    loader = augmented(images(shards).cache("disk", path=tmp_path / "half", limit=limit)).to_numpy(
        threads=2, prefetch=1
    )
    for _ in range(3):
        list(loader)
    kept = uses(loader)["samples"]
    assert 20 <= kept <= 25
    again = augmented(images(shards).cache("disk", path=tmp_path / "half", limit=limit)).to_numpy(persistent=False)
    list(again)
    # Batches of the next epoch may have been begun already.
    assert uses(again)["samples"] == kept and uses(again)["misses"] >= 50 - kept
    rate = uses(again)["hits"] / (uses(again)["hits"] + uses(again)["misses"])
    assert abs(rate - kept / 50) < 0.15
    assert sum(path.stat().st_size for path in entries(tmp_path / "half")) <= limit
    small = augmented(images(shards).cache("disk", path=tmp_path / "small", limit=1000))
    assert epochs(small) == epochs(augmented(images(shards)))


def test_a_folder_that_cannot_be_written_to(shards, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "infeed-samples-1").write_text("in the way")
    pipeline = augmented(images(shards).cache("disk", path=tmp_path / "c"))
    with pytest.warns(RuntimeWarning, match="keeps nothing more"):
        found = epochs(pipeline)
    assert found == epochs(augmented(images(shards)))
    # Once is enough.
    assert epochs(pipeline) == found
    assert "keeps nothing more" in str(pipeline.to_numpy().stats())


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="needs to mount a small file system")
@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_full_or_read_only_disk_ends_nothing(shards, tmp_path, fault):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this process may not mount")
    try:
        if fault == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        pipeline = augmented(images(shards).cache("disk", path=place / "c", limit="1GB"))
        with pytest.warns(RuntimeWarning, match="keeps nothing more"):
            found = epochs(pipeline)
        assert found == epochs(augmented(images(shards)))
        assert uses(pipeline.to_numpy())["samples"] >= (5 if fault == "full" else 0)
        del pipeline
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_killed_while_writing(shards, tmp_path):
    code = """
import sys
sys.path[:0] = [sys.argv[3]]
from test_sample_cache import images, augmented
loader = augmented(images(sys.argv[1]).cache("disk", path=sys.argv[2])).to_numpy(threads=2)
print("ready", flush=True)
for _ in range(1000):
    list(loader)
"""
    cache = tmp_path / "c"
    wanted = epochs(augmented(images(shards)), 1)
    command = [sys.executable, "-c", code, shards, str(cache), str(HERE)]
    for pause in (0.0, 0.02, 0.05):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline()
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
        assert epochs(augmented(images(shards).cache("disk", path=cache)), 1) == wanted
        shutil.rmtree(cache)
    loader = augmented(images(shards).cache("disk", path=cache)).to_numpy()
    list(loader)
    assert uses(loader)["samples"] == 50


def test_memory_is_given_back(shards):
    place = Path(f"/dev/shm/infeed-cache-{os.getuid()}/infeed-samples-1")
    pipeline = augmented(images(shards).cache("memory", limit="20MB"))
    loader = pipeline.to_numpy()
    list(loader)
    assert entries(place)
    held = entries(place)
    loader.close()
    del pipeline, loader
    gc.collect()
    # The last thread of the engine lets go of it.
    until = time.monotonic() + 30
    while any(path.exists() for path in held) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(path.exists() for path in held)


def test_forks_read_and_write_it(shards, tmp_path):
    pipeline = augmented(images(shards).cache("disk", path=tmp_path / "c"))
    wanted = epochs(augmented(images(shards)), 1)
    list(next(iter(pipeline.to_numpy())))  # some of it
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if epochs(pipeline, 1) == wanted else 2
        finally:
            os._exit(code)
    assert epochs(pipeline, 1) == wanted
    assert os.waitpid(child, 0)[1] == 0
    assert epochs(pipeline, 1) == wanted
    verify = subprocess.run([sys.executable, "-m", "infeed", "cache", "verify", str(tmp_path / "c")], timeout=60)
    assert verify.returncode == 0


def test_the_command_looks_after_it(shards, tmp_path):
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "infeed", "cache", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    cache = tmp_path / "c"
    epochs(augmented(images(shards).cache("disk", path=cache)), 1)
    listed = run("ls", str(cache))
    assert "50 samples of 1 pipelines" in listed and "decode, map" in listed
    assert "50 sound samples" in run("verify", str(cache))
    assert "samples of 0 pipelines" not in run("clean", str(cache), "--older", "1")
    assert "samples of 1 pipelines removed" in run("clean", str(cache))
    assert not entries(tmp_path)


def test_joined_parts_have_caches_of_their_own(shards, tmp_path):
    first = infeed.open(shards).decode(jpg="rgb", cls="int").map(T.Resize((40, 40)), on="jpg")
    second = infeed.open(shards).decode(jpg="gray", cls="int").map(T.Resize((40, 40)), on="jpg")
    second = second.map(T.Grayscale(3), on="jpg")

    def rest(a, b):
        return infeed.concat([a, b]).shuffle(seed=2).map(T.RandomCrop(30), on="jpg").batch(8)

    wanted = epochs(rest(first, second))
    one = rest(first.cache("disk", path=tmp_path / "c"), second)
    both = rest(first.cache("disk", path=tmp_path / "c"), second.cache("disk", path=tmp_path / "c"))
    for pipeline in (one, both, both):
        assert epochs(pipeline) == wanted
    # The same rows with and without a cache are the same rows.
    same = infeed.concat([first.cache("disk", path=tmp_path / "c"), first]).batch(8)
    assert same.plan.rows == infeed.concat([first, first]).batch(8).plan.rows
