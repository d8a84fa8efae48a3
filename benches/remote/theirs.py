"""The loops of peers that read from S3 or HTTP, each in the way its own documentation shows, with two workers.

Every loop hands out the bytes of all rows once, and prints rows, bytes, seconds and the time of the first row as JSON.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORKERS = 2


def webdataset_curl(given: dict[str, Any]) -> Iterator[int]:
    """WebDataset reads shards through curl."""
    import webdataset

    data = webdataset.WebDataset(f"pipe:curl -s {given['http']}", shardshuffle=8, empty_check=False).shuffle(1000)
    for row in webdataset.WebLoader(data, batch_size=None, num_workers=WORKERS):
        yield len(row["jpg"])


def s3torchconnector(given: dict[str, Any]) -> Iterator[int]:
    """Objects as streams of AWS's own client; the tars are taken apart in the workers."""
    import torch
    from s3torchconnector import S3ClientConfig, S3IterableDataset

    def rows(reader: Any) -> list[bytes]:
        with tarfile.open(fileobj=io.BytesIO(reader.read())) as file:
            members = (member for member in file if member.name.endswith(".jpg"))
            return [taken.read() for taken in map(file.extractfile, members) if taken is not None]

    data = S3IterableDataset.from_objects(
        given["s3"],
        region="us-east-1",
        endpoint=os.environ["AWS_ENDPOINT_URL"],
        transform=rows,
        s3client_config=S3ClientConfig(force_path_style=True),
        enable_sharding=True,
    )
    for shard in torch.utils.data.DataLoader(data, batch_size=None, num_workers=WORKERS):
        yield from map(len, shard)


def streaming_make(folder: Path, rows: Iterator[tuple[bytes, int]]) -> None:
    """MDS shards of the default size, not compressed."""
    import streaming

    with streaming.MDSWriter(out=str(folder), columns={"jpg": "bytes", "cls": "int"}) as out:
        for image, label in rows:
            out.write({"jpg": image, "cls": label})


def streaming_read(given: dict[str, Any]) -> Iterator[int]:
    """Downloads shards into a folder, ahead of the rows."""
    import streaming
    import torch

    streaming.base.util.clean_stale_shared_memory()
    with tempfile.TemporaryDirectory() as local:
        data = streaming.StreamingDataset(remote=given["mds"], local=local, shuffle=True, batch_size=64)
        for batch in torch.utils.data.DataLoader(data, 64, num_workers=WORKERS, collate_fn=list):
            yield from (len(row["jpg"]) for row in batch)


def litdata_make(folder: Path, rows: Iterator[tuple[bytes, int]]) -> None:
    """Chunks of 64 MB, as its examples have them."""
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(folder), chunk_bytes=64 << 20)
    for number, (image, label) in enumerate(rows):
        writer.add_item(number, {"jpg": image, "cls": label})
    writer.done()
    writer.merge()


def litdata_read(given: dict[str, Any]) -> Iterator[int]:
    """Downloads chunks into a cache folder."""
    import litdata
    from litdata.streaming import downloader

    # Its client refuses plain http otherwise, and there is no other way to tell it.
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
    cache = tempfile.mkdtemp()
    os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = cache
    options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    data = litdata.StreamingDataset(given["litdata"], cache_dir=cache, shuffle=True, storage_options=options)
    for batch in litdata.StreamingDataLoader(data, batch_size=64, num_workers=WORKERS, collate_fn=list):
        yield from (len(row["jpg"]) for row in batch)
    shutil.rmtree(cache, ignore_errors=True)


def hugging_face(given: dict[str, Any]) -> Iterator[int]:
    """Streams the tars over http: with s3fs, datasets 5.2 and s3fs 2026.9 do not understand each other."""
    import datasets
    import torch

    place = given["http"].rpartition("/")[0]
    files = [f"{place}/{uri.rpartition('/')[2]}" for uri in given["s3"]]
    data = datasets.load_dataset("webdataset", data_files={"train": files}, split="train", streaming=True)
    data = data.cast_column("jpg", datasets.Image(decode=False)).shuffle(buffer_size=1000)
    for row in torch.utils.data.DataLoader(data, batch_size=None, num_workers=WORKERS):
        yield len(row["jpg"]["bytes"])


LOOPS: dict[str, Callable[[dict[str, Any]], Iterator[int]]] = {
    "webdataset": webdataset_curl,
    "s3torchconnector": s3torchconnector,
    "streaming": streaming_read,
    "litdata": litdata_read,
    "huggingface": hugging_face,
}
MAKES: dict[str, Callable[[Path, Iterator[tuple[bytes, int]]], None]] = {
    "streaming": streaming_make,
    "litdata": litdata_make,
}


def main() -> None:
    """`theirs.py make NAME FOLDER TARS...` or `theirs.py NAME JSON`."""
    if sys.argv[1] == "make":
        _, _, name, folder, *tars = sys.argv

        def rows() -> Iterator[tuple[bytes, int]]:
            for path in tars:
                with tarfile.open(path) as file:
                    for member in file:
                        taken = file.extractfile(member)
                        if member.name.endswith(".jpg") and taken is not None:
                            yield taken.read(), 0

        MAKES[name](Path(folder), rows())
        return
    given = json.loads(sys.argv[2])
    start = time.perf_counter()
    rows, size, first = 0, 0, 0.0
    for length in LOOPS[sys.argv[1]](given):
        first = first or time.perf_counter() - start
        rows += 1
        size += length
    print(json.dumps({"rows": rows, "bytes": size, "seconds": time.perf_counter() - start, "first": first}))


if __name__ == "__main__":
    main()
