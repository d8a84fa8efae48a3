"""`infeed inspect`: its page, the arguments of formats, and data sets with annotations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from annotation_sets import write_voc, write_yolo
from conftest import encode
from shown import GRAY, Page, write_coco

import infeed
from infeed.annotated import annotated_set
from infeed.command_line import run

EVIL = "<script>alert(1)</script>"


def made(out: Path, *args: object) -> tuple[Page, str]:
    """The page that the command writes."""
    assert run(["inspect", *map(str, args), "--html", "-o", str(out / "page.html")]) == 0
    text = (out / "page.html").read_text("utf-8")
    assert text.startswith("<!doctype html>") and 'name="viewport"' in text and "color-scheme:light dark" in text
    assert "http" not in text and not {"script", "link", "iframe"} & set(Page(text).tags), "nothing from outside"
    return Page(text), text


def test_images_are_cards(tmp_path, shards):
    page, text = made(tmp_path, shards, "--rows", 5)
    assert page.rows[0] == ["field", "type", "shape", "stored as", "in rows", "min", "mean", "max", "images"]
    fields = {row[0]: row for row in page.rows[1:]}
    assert fields["cls"][1:4] == ["int64", "", "int"] and fields["jpg"][1:4] == ["uint8", "? x ? x 3", "jpeg"]
    assert len(page.images) == 5 == page.tags.count("figure")
    assert all(100 <= max(pixels.shape) <= 224 and pixels.shape[2] == 3 for _, pixels in page.images)
    assert "<dt>format</dt><dd>tar</dd>" in text and f"<dd>{len(infeed.open(shards)):,}</dd>" in text


def test_boxes_and_masks_are_drawn(tmp_path):
    file = write_coco(tmp_path / "coco")
    page, text = made(tmp_path, file)
    assert "<dd>coco</dd>" in text and "<dd>1: thing</dd>" in text and "7 thing" in text
    assert len(page.images) == 3
    pixels = page.images[0][1].astype(int)
    across = pixels.shape[1] / 80
    colours = np.ptp(pixels, axis=2)
    assert colours[int(30 * across), int(40 * across)] > 20, "the mask is painted"
    assert colours[int(10 * across) - 1 : int(10 * across) + 3, int(40 * across)].max() > 20, "the box is drawn"
    assert colours[5, 5] == 0, "and nothing outside of them"


def test_tables_and_tokens_are_lines(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table({"x": [0.5, 1.5], "text": ["a", "b" * 500], "list": [[1, 2], [3, 4]]})
    parquet.write_table(table, tmp_path / "t.parquet")
    page, text = made(tmp_path, tmp_path / "t.parquet")
    assert page.rows[1][:2] == ["x", "float64"] and "<dd>parquet</dd>" in text and page.images == []
    at = page.rows.index(["", "x", "text", "list"])
    assert page.rows[at + 1] == ["0", "0.5", "a", "1, 2"] and len(page.rows[at + 2][2]) == 200
    np.arange(1000, dtype=np.uint16).tofile(tmp_path / "t.bin")
    page, text = made(tmp_path, tmp_path / "t.bin", "--format", "tokens", "--set", "length=100")
    assert page.rows[1][:3] == ["tokens", "int64", "100"] and "<dt>rows</dt><dd>10</dd>" in text


def test_nothing_of_the_data_runs(tmp_path):
    name = tmp_path / "<b>&%d.tar"
    with infeed.ShardWriter(str(name)) as out:
        out.write({"__key__": "<i>k", "txt": EVIL, EVIL.replace("/", ""): EVIL})
    page, _ = made(tmp_path, str(name) % 0)
    assert {"script", "i", "b"}.isdisjoint(page.tags) and any(EVIL in row for row in page.rows)
    with infeed.ShardWriter(str(tmp_path / "image%d.tar")) as out:
        out.write({"__key__": "<i>k", "txt": EVIL, "jpg": encode(GRAY, "JPEG")})
    page, text = made(tmp_path, tmp_path / "image0.tar")
    assert {"script", "i"}.isdisjoint(page.tags) and len(page.images) == 1 and "&lt;script&gt;" in text


def test_samples_that_lack_fields_or_are_bad(tmp_path):
    with infeed.ShardWriter(str(tmp_path / "a%d.tar")) as out:
        out.write({"__key__": "a", "jpg": encode(GRAY, "JPEG"), "cls": 3})
        out.write({"__key__": "b", "jpg": encode(GRAY, "JPEG")})
    page, text = made(tmp_path, tmp_path / "a0.tar")
    assert len(page.images) == 2 and "None" in text
    with infeed.ShardWriter(str(tmp_path / "b%d.tar")) as out:
        out.write({"__key__": "a", "jpg": encode(GRAY, "JPEG")[:200]})
        out.write({"__key__": "b", "jpg": encode(GRAY, "JPEG")})
    page, text = made(tmp_path, tmp_path / "b0.tar")
    assert "They cannot be shown. SampleError" in text and page.rows[1][0] == "jpg", "the rest is there"


def test_wrong_arguments(tmp_path, shards, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for wrong, words in [
        (["-o", "x.html"], "give --html too"),
        (["--html", "--rows", "0"], "--rows must be 1 to 64"),
        (["--html", "--set", "split"], "NAME=VALUE"),
        (["--html", "--set", "a=b"], "name it with --format"),
        (["--html", "--what"], "--what"),
    ]:
        assert run(["inspect", shards, *wrong]) == 2 and words in capfd.readouterr().err
    assert run(["inspect", "-", "--html"]) == 2 and "only once" in capfd.readouterr().err
    for args in (["none.tar"], [shards, "--format", "none"], [shards, "--format", "csv", "--set", "none=1"]):
        assert run(["inspect", *args, "--html"]) == 1 and "none" in capfd.readouterr().err
    assert list(tmp_path.glob("*.html")) == []
    assert run(["inspect", shards, "--html"]) == 0 and capfd.readouterr().out == "inspect.html\n"


def test_the_help_tells_it(capfd):
    assert run(["inspect", "--help"]) == 0
    told = capfd.readouterr().out
    assert "--sample" in told and "--html" in told and "-o, --out <FILE>" in told and "--set <NAME=VALUE>" in told


def test_data_sets_with_annotations_are_found(tmp_path, capfd):
    coco = write_coco(tmp_path / "coco")
    assert annotated_set(str(coco)) == ("coco", str(tmp_path / "coco" / "images"), {"annotations": str(coco)})
    assert annotated_set(str(tmp_path / "coco")) == annotated_set(str(coco))
    (tmp_path / "usual" / "annotations").mkdir(parents=True)
    (tmp_path / "coco" / "images").rename(tmp_path / "usual" / "val2017")
    moved = coco.rename(tmp_path / "usual" / "annotations" / "instances_val2017.json")
    found = annotated_set(str(tmp_path / "usual"))
    assert found == ("coco", str(tmp_path / "usual" / "val2017"), {"annotations": str(moved)})
    assert run(["inspect", str(tmp_path / "usual")]) == 0
    told = capfd.readouterr().out
    assert "format       coco" in told and "boxes" in told and "1: thing" in told and "Batch of 3" in told
    voc, yolo = write_voc(tmp_path / "voc"), write_yolo(tmp_path / "yolo")
    (tmp_path / "yolo" / "images").rename(tmp_path / "yolo" / "pictures")
    yolo.write_text("train: pictures/train\nnames: [cat, dog]\n")
    assert annotated_set(str(yolo.parent)) == ("yolo", str(yolo.parent), {})
    (tmp_path / "yolo" / "pictures").rename(tmp_path / "yolo" / "images")
    yolo.write_text("train: images/train\nnames: [cat, dog]\n")
    for place, name in ((voc, "voc"), (yolo, "yolo"), (yolo.parent, "yolo")):
        assert run(["inspect", str(place)]) == 0
        told = capfd.readouterr().out
        assert f" {name}\n" in told and "boxes" in told and "labels" in told
        page, _ = made(tmp_path, place)
        assert page.images and all(np.ptp(pixels.astype(int), axis=2).any() for _, pixels in page.images)


def test_other_data_is_not_taken_for_them(tmp_path, shards):
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "a.jpg").write_bytes(encode(GRAY, "JPEG"))
    (tmp_path / "a.json").write_text('{"images": [], "text": "annotations"}\n')
    (tmp_path / "b.yaml").write_text("model: x\n")
    for place in (tmp_path, tmp_path / "cat", tmp_path / "a.json", tmp_path / "b.yaml", shards, "pipe:cat x", "no\0"):
        assert annotated_set(str(place)) is None


def test_other_commands_import_no_numpy(shards):
    code = (
        "import sys\nfrom infeed.command_line import run\nassert run(['inspect', sys.argv[1], '--rows', '0']) == 0\n"
    )
    code += "assert 'numpy' not in sys.modules and 'argparse' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, shards], check=True, capture_output=True)
