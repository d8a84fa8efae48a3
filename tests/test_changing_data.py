"""Data that changes, disappears or fails while it is read: named errors, never a wrong row, never a dead process."""

from __future__ import annotations

import io
import json
import os
import signal
import struct
import subprocess
import sys
import tarfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infeed

HERE = Path(__file__).parent


def write_tar(path: Path, members: dict[str, bytes]) -> str:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as out:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return str(path)


def run(code: str, *args: object, timeout: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in a process of its own, which may die."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **env})


def texts(loader) -> list[str]:
    return [text for batch in loader for text in batch["txt"]]


def test_a_tar_rewritten_with_its_old_time_is_indexed_again(tmp_path):
    """The same size and the same modification time, as after `cp -p` or a restored backup."""
    path = tmp_path / "t.tar"

    def write(lengths: list[int]) -> str:
        return write_tar(path, {f"k{i:03}.txt": b"%03d:" % i * (n // 4) for i, n in enumerate(lengths)})

    def rows() -> list[str]:
        pipeline = infeed.tar(str(path), index="beside").decode(txt="text").batch(40)
        return [text[:4] for text in texts(pipeline.to_numpy(threads=1))]

    write([512, 1024] * 20)
    before = path.stat()
    assert rows() == [f"{i:03}:" for i in range(40)]
    assert (tmp_path / "t.tar.infeed-index").exists()
    write([1024, 512] * 20)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert rows() == [f"{i:03}:" for i in range(40)]


def test_an_index_of_another_tar_is_noticed_when_rows_are_read(tmp_path):
    """The index says that it fits, and does not: every row checks the header in front of it."""
    path = tmp_path / "t.tar"
    write_tar(path, {f"k{i:03}.txt": b"%03d:" % i * n for i, n in enumerate([128, 256] * 20)})
    loader = infeed.tar(str(path), index="beside").decode(txt="text").batch(4).to_numpy(threads=1)
    inode = path.stat()
    # In place, with size and times set back as far as that is possible; the loader has the file's places in memory.
    other = tmp_path / "other.tar"
    write_tar(other, {f"k{i:03}.txt": b"%03d:" % i * n for i, n in enumerate([256, 128] * 20)})
    path.write_bytes(other.read_bytes())
    os.utime(path, ns=(inode.st_atime_ns, inode.st_mtime_ns))
    with pytest.raises(infeed.UnreadableError, match=r"t\.tar. changed while it was being read"):
        texts(loader)


@pytest.mark.parametrize("keep_time", [False, True])
@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
def test_shards_replaced_in_mid_epoch_are_refused(tmp_path, on_error, keep_time):
    """More shards than are kept open, each replaced by one of the same size."""
    shards = 300

    def write(i: int, tag: bytes) -> None:
        path = tmp_path / f"t{i:03}.tar"
        time = path.stat().st_mtime_ns if path.exists() and keep_time else None
        write_tar(path.with_suffix(".new"), {f"k{i:03}.txt": b"%s %03d   " % (tag, i)})
        path.with_suffix(".new").rename(path)
        if time is not None:
            os.utime(path, ns=(time, time))

    for i in range(shards):
        write(i, b"old")
    pipeline = infeed.open(str(tmp_path / "*.tar")).decode(txt="text").batch(10)
    loader = pipeline.to_numpy(threads=1, io_threads=1, prefetch=1, on_error=on_error)
    batches = iter(loader)
    seen = list(next(batches)["txt"])
    for i in range(shards):
        write(i, b"new")
    with pytest.raises(infeed.UnreadableError, match=r"t\d+\.tar. changed while it was being read"):
        for batch in batches:
            seen += batch["txt"]
    assert all(text.startswith("old") for text in seen)


MAKE = {
    "tokens": lambda d: infeed.tokens(f"{d}/t", 1024, dtype="int64", raw="uint32").shuffle(seed=1).batch(8),
    "parquet": lambda d: infeed.open(f"{d}/t.parquet").batch(512),
    "arrow": lambda d: infeed.open(f"{d}/t.arrow").batch(512),
    "texts": lambda d: infeed.open(f"{d}/texts.arrow").batch(512),
    "tar": lambda d: infeed.open(f"{d}/t.tar").batch(8),
}


@pytest.mark.parametrize("kind", list(MAKE))
def test_files_cut_short_are_errors(tmp_path, kind):
    """Mapped or not: the process lives, and no batch has zeros in place of what is gone."""
    numbers = np.arange(1, 2_000_001, dtype="f8")
    if kind == "tokens":
        np.arange(1, 8_000_001, dtype="u4").tofile(tmp_path / "t.bin")
    elif kind == "parquet":
        table = pa.table({"x": numbers})
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=20_000, compression="none", use_dictionary=False)
    elif kind in ("arrow", "texts"):
        column = pa.array(numbers) if kind == "arrow" else pa.array([f"row {i:07} " * 8 for i in range(100_000)])
        name = "t.arrow" if kind == "arrow" else "texts.arrow"
        table = pa.table({"x": column})
        with pa.OSFile(str(tmp_path / name), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=20_000)
    else:
        write_tar(tmp_path / "t.tar", {f"k{i:04}.bin": b"%04d" % i * 2500 for i in range(2000)})
    code = """
        import os, sys
        sys.path.insert(0, sys.argv[3])
        import infeed
        from test_changing_data import MAKE
        kind, folder = sys.argv[1:3]
        loader = MAKE[kind](folder).to_numpy(threads=2, on_error="skip", persistent=False)
        seen = 0
        try:
            for n, batch in enumerate(loader):
                for value in batch.values():
                    for row in value:
                        if hasattr(row, "all"):
                            assert row.all(), "a row of zeros was delivered"
                        elif isinstance(row, str):
                            assert "\\0" not in row, "a text of zeros was delivered"
                        seen += 1
                if n == 2:
                    files = [f for f in os.listdir(folder) if not f.endswith("index")]
                    os.truncate(os.path.join(folder, files[0]), 4096)
            print("end", seen)
        except (infeed.UnreadableError, infeed.DataChangedError, infeed.FormatError, OSError) as error:
            print("raised", type(error).__name__, error)
    """
    done = run(code, kind, tmp_path, HERE)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert done.stdout.startswith("raised"), done.stdout


@pytest.fixture(scope="session")
def faults_library(tmp_path_factory) -> str:
    library = tmp_path_factory.mktemp("native") / "faults.so"
    source = HERE / "native" / "faults.c"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return str(library)


FORMATS = {
    "tar": 'infeed.tar(d + "/FAULTY.tar", index="off").batch(16)',
    "tar.gz": 'infeed.open(d + "/FAULTY.tar.gz").batch(16)',
    "tokens": 'infeed.tokens(d + "/FAULTY.bin", 64, read="pread").batch(16)',
    "parquet": 'infeed.parquet(d + "/FAULTY.parquet", read="pread").batch(64, ragged="list")',
    "jsonl": 'infeed.open(d + "/FAULTY.jsonl").batch(16, ragged="list")',
}


@pytest.mark.parametrize("kind", list(FORMATS))
def test_faults_that_pass_lose_no_row(tmp_path, faults_library, kind):
    """EINTR, short reads, EIO, EAGAIN, ESTALE and files that seem to end, injected under the process."""
    if kind.startswith("tar"):
        write_tar(tmp_path / "FAULTY.tar", {f"k{i:04}.bin": b"%04d" % i * 500 for i in range(1000)})
        if kind == "tar.gz":
            import gzip

            (tmp_path / "FAULTY.tar.gz").write_bytes(gzip.compress((tmp_path / "FAULTY.tar").read_bytes(), 1))
    elif kind == "tokens":
        np.arange(200_000, dtype="u2").tofile(tmp_path / "FAULTY.bin")
    elif kind == "parquet":
        table = pa.table({"x": np.arange(50_000)})
        pq.write_table(
            table, tmp_path / "FAULTY.parquet", row_group_size=1000, compression="none", use_dictionary=False
        )
    else:
        lines = (f'{{"a": {i}, "s": "{"x" * 100}"}}\n' for i in range(10_000))
        (tmp_path / "FAULTY.jsonl").write_text("".join(lines))
    code = f"""
        import hashlib, sys
        import infeed
        d = sys.argv[1]
        loader = {FORMATS[kind]}.to_numpy(threads=2, on_error="skip")
        digest, rows = hashlib.md5(), 0
        for batch in loader:
            values = list(batch.values())[0]
            rows += len(values)
            for value in values:
                digest.update(bytes(value) if hasattr(value, "dtype") else str(value).encode())
        stats = loader.stats()
        print(rows, digest.hexdigest(), stats["bad_samples"])
        print(stats["retries"], file=sys.stderr)
    """
    good = run(code, tmp_path)
    assert good.returncode == 0, good.stderr
    retries = 0
    for fault in ("EINTR", "SHORT", "EIO", "EAGAIN", "ESTALE", "END"):
        rate = "0.2" if fault in ("EINTR", "SHORT") else "0.03"
        done = run(code, tmp_path, LD_PRELOAD=faults_library, FAULT=fault, RATE=rate)
        assert done.returncode == 0, (fault, done.stderr)
        assert done.stdout == good.stdout, fault
        retries += int(done.stderr.split()[-1])
    assert retries > 0


def test_pipes_in_place_of_files_do_not_hang(tmp_path):
    for kind in ("manifest", "folder", "tar"):
        folder = tmp_path / kind
        (folder / "c" / "a").mkdir(parents=True)
        pipe = folder / "c" / "a" / ("x.tar" if kind == "tar" else "x.jpg")
        os.mkfifo(pipe)
        (folder / "m.txt").write_text(f"{pipe} 1\n")
        code = """
            import sys, infeed
            kind, folder, pipe = sys.argv[1:]
            try:
                if kind == "manifest":
                    pipeline = infeed.manifest(folder + "/m.txt").decode(image="rgb").batch(1)
                elif kind == "folder":
                    pipeline = infeed.folder(folder + "/c").decode(image="rgb").batch(1)
                else:
                    pipeline = infeed.tar(pipe).batch(1)
                loader = pipeline.to_numpy(threads=1, on_error="skip")
                list(loader)
                print(loader.stats()["bad"][0]["error"])
            except Exception as error:
                print(error)
        """
        done = run(code, kind, folder, pipe, timeout=60)
        assert "named pipe" in done.stdout, (kind, done.stdout, done.stderr)


def npy(shape: object, data: bytes = b"") -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize(
    ("members", "rows", "message"),
    [
        ([npy((1, 50_000), bytes(200_000)), npy((50_000, 1), bytes(200_000))], 1, "would pad its batch"),
        ([npy((1, 1), b"abcd"), npy((2**40, 0))], 1, ""),
        ([npy((2**40, 0)), npy((0, 2**40))], None, ""),
        ([npy((2, 3), bytes(24))] * 5 + [npy((2, 3, 1), bytes(24))], 5, "3 dimensions"),
    ],
)
def test_padding_asks_for_no_more_than_there_is(tmp_path, members, rows, message):
    path = write_tar(tmp_path / "t.tar", {f"a{i}.npy": data for i, data in enumerate(members)})
    code = """
        import sys, infeed
        loader = infeed.open(sys.argv[1]).decode(npy="npy").batch(8, ragged="pad")
        loader = loader.to_numpy(threads=1, on_error="skip", memory="1GB")
        rows = sum(len(batch["npy"]) for batch in loader)
        print(rows, [bad["error"] for bad in loader.stats()["bad"]])
    """
    done = run(code, path)
    assert done.returncode == 0, (done.returncode, done.stderr)
    if rows is not None:
        assert done.stdout.startswith(f"{rows} ["), done.stdout
    assert message in done.stdout


def test_a_sparse_tar_does_not_take_all_memory(tmp_path):
    path = tmp_path / "t.tar"
    info = tarfile.TarInfo("a.bin")
    info.size = 20 << 30
    good = tarfile.TarInfo("b.bin")
    good.size = 4
    with path.open("wb") as out:
        out.write(info.tobuf(tarfile.GNU_FORMAT))
        out.seek(512 + info.size)
        out.write(good.tobuf(tarfile.GNU_FORMAT) + b"good" + bytes(508 + 1024))
    loader = infeed.open(str(path)).batch(1).to_numpy(threads=1, on_error="skip")
    assert [bytes(batch["bin"][0]) for batch in loader if len(batch["bin"])] == [b"good"]
    assert "20.0 GiB" in loader.stats()["bad"][0]["error"]


@pytest.mark.parametrize("kind", ["tar", "jsonl"])
def test_compressed_streams_keep_to_memory(tmp_path, kind):
    """A few hundred bytes that become gigabytes."""
    import zstandard

    path = tmp_path / f"x.{kind}.zst"
    rows, size = (3, 300 << 20) if kind == "tar" else (20, 40 << 20)
    with path.open("wb") as file, zstandard.ZstdCompressor(level=1).stream_writer(file) as out:
        for i in range(rows):
            if kind == "tar":
                info = tarfile.TarInfo(f"k{i}.bin")
                info.size = size
                out.write(info.tobuf(tarfile.GNU_FORMAT))
            else:
                out.write(b'{"a":"')
            for _ in range(size >> 20):
                out.write(b"x" * (1 << 20))
            out.write(b"" if kind == "tar" else b'"}\n')
        out.write(bytes(1024) if kind == "tar" else b"")
    code = """
        import resource, sys, infeed
        rows = int(sys.argv[2])
        loader = infeed.open(sys.argv[1]).batch(rows, ragged="list").to_numpy(threads=1, memory="200MB")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            for batch in loader:
                print("batch", len(batch))
        except Exception as error:
            print("raised", error)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
    """
    done = run(code, path, rows)
    assert done.returncode == 0, (done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("raised") and "memory=" in lines[0], done.stdout
    assert int(lines[-1]) < 500, f"{lines[-1]} MB with memory=200MB"


@pytest.mark.parametrize("fault", ["EIO", "HANG"])
def test_ctrl_c_ends_reads_that_fail_or_hang(tmp_path, faults_library, fault):
    """Every read fails and is tried again, or never returns, when the signal comes."""
    write_tar(tmp_path / "FAULTY.tar", {f"k{i}.bin": b"x" * 5000 for i in range(100)})
    code = """
        import os, sys, infeed
        loader = infeed.tar(sys.argv[1], index="off").batch(4).to_numpy(threads=1)
        os.environ["RATE"] = "1"
        print("go", flush=True)
        for batch in loader:
            pass
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "FAULTY.tar")]
    env = {**os.environ, "LD_PRELOAD": faults_library, "FAULT": fault, "RATE": "0"}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        assert child.stdout.readline() == "go\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=30)
    finally:
        child.kill()
    assert "KeyboardInterrupt" in error, error


def test_a_stall_names_what_hangs(tmp_path, faults_library):
    write_tar(tmp_path / "FAULTY.tar", {f"k{i}.bin": b"x" * 5000 for i in range(100)})
    code = """
        import os, sys, infeed
        loader = infeed.tar(sys.argv[1], index="off").batch(4).to_numpy(threads=1, stall_timeout=1)
        os.environ["RATE"] = "1"
        try:
            list(loader)
        except TimeoutError as error:
            print(error)
    """
    done = run(code, tmp_path / "FAULTY.tar", LD_PRELOAD=faults_library, FAULT="HANG", RATE="0", timeout=60)
    assert "no batch came for 1." in done.stdout, (done.stdout, done.stderr)
    assert "reading shard" in done.stdout and "FAULTY.tar" in done.stdout and "row " in done.stdout
    with pytest.raises(ValueError, match="stall_timeout"):
        infeed.tar(str(tmp_path / "FAULTY.tar")).batch(4).to_numpy(stall_timeout=0)


@pytest.mark.parametrize("command", ["bench", "verify-epoch"])
def test_a_recipe_runs_no_commands_unless_allowed(tmp_path, command):
    """A recipe file is data: looking at one must not run what it says."""
    mark = tmp_path / "executed"
    recipe = tmp_path / "recipe.json"
    inner = {"source": {"paths": [f"pipe:touch {mark}; cat /dev/null"]}, "stage": []}
    ledger = tmp_path / "ledger.json"
    ledger.write_text("{}")
    for source in (inner["source"], {"join": {"op": "concat"}, "part": [inner]}):
        recipe.write_text(json.dumps({"source": source, "stage": []}))
        arguments = [command, recipe, *([ledger] if command == "verify-epoch" else [])]
        done = subprocess.run([sys.executable, "-m", "infeed", *arguments], capture_output=True, text=True)
        assert done.returncode != 0
        assert not mark.exists()
    assert "--allow-commands" in done.stderr or "recipe" in done.stderr
    recipe.write_text(json.dumps({"source": inner["source"], "stage": []}))
    allowed = [sys.executable, "-m", "infeed", *arguments[:1], "--allow-commands", *arguments[1:]]
    subprocess.run(allowed, capture_output=True, text=True)
    assert mark.exists()
