"""The check of the wheel's symbols notices what an old system does not have."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import wheel_symbols

DYNAMIC = """
 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [lib_core.so]
"""
VERSIONS = """
Version symbols section '.gnu.version' contains 3 entries:
  000:   0 (*local*)       2 (GLIBC_2.2.5)   3 (GLIBC_2.17)
Version needs section '.gnu.version_r' contains 1 entry:
 Addr: 0x0000000000003f70  Offset: 0x003f70  Link: 4 (.dynstr)
  000000: Version: 1  File: libc.so.6  Cnt: 2
  0x0010:   Name: GLIBC_2.17  Flags: none  Version: 3
  0x0020:   Name: GLIBC_2.2.5  Flags: none  Version: 2
"""
SYMBOLS = """
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND memcpy@GLIBC_2.14 (3)
     2: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND PyList_New
     3: 0000000000000000     0 OBJECT  GLOBAL DEFAULT  UND _Py_NoneStruct
     4: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND gettid
     5: 0000000000001000    10 FUNC    GLOBAL DEFAULT   12 PyInit__core
"""
NAME = "infeed-0.1.0-cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"


def complaints(dynamic: str = DYNAMIC, versions: str = VERSIONS, symbols: str = SYMBOLS) -> list[str]:
    return wheel_symbols.complaints(wheel_symbols.parse(dynamic, versions, symbols), (2, 17))


def test_what_an_old_system_has_is_fine():
    needs = wheel_symbols.parse(DYNAMIC, VERSIONS, SYMBOLS)
    assert needs.libraries == {"libm.so.6", "libc.so.6"}
    # 2.17 is newer than 2.2.5, though not as text.
    assert needs.newest_glibc == (2, 17)
    assert needs.unversioned == {"PyList_New", "_Py_NoneStruct"}
    assert complaints() == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"versions": VERSIONS.replace("Name: GLIBC_2.17", "Name: GLIBC_2.28")},
            "GLIBC_2.28; the tag allows GLIBC_2.17",
        ),
        ({"versions": VERSIONS.replace("Name: GLIBC_2.17", "Name: GLIBC_PRIVATE")}, "GLIBC_PRIVATE"),
        (
            {"versions": VERSIONS.replace("Name: GLIBC_2.17", "Name: GCC_7.0.0")},
            "GCC_7.0.0; the tag allows GCC_4.8.0",
        ),
        ({"versions": VERSIONS.replace("Name: GLIBC_2.17", "Name: GLIBCXX_3.4.21")}, "symbols of GLIBCXX_3.4.21"),
        ({"dynamic": DYNAMIC.replace("libm.so.6", "libpython3.11.so.1.0")}, "the library libpython3.11.so.1.0"),
        ({"symbols": SYMBOLS.replace("WEAK   DEFAULT  UND gettid", "GLOBAL DEFAULT  UND gettid")}, "needs gettid"),
    ],
)
def test_what_an_old_system_lacks_is_named(changed, words):
    (complaint,) = complaints(**changed)
    assert words in complaint


def test_the_tag_says_which_glibc():
    assert wheel_symbols.promised(NAME) == (2, 17)
    assert wheel_symbols.promised("infeed-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl") == (2, 28)
    assert wheel_symbols.promised("infeed-0.1.0-cp311-abi3-linux_x86_64.whl") is None


@pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("readelf") is None, reason="needs a compiler and readelf"
)
def test_a_library_that_was_compiled_here(tmp_path, capsys):
    """A function that no glibc has is found in the wheel by its name."""
    source, library, wheel = tmp_path / "a.c", tmp_path / "_core.so", tmp_path / NAME
    source.write_text("extern int of_a_newer_glibc(void);\nint here(void) { return of_a_newer_glibc(); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-nostdlib", "-o", library, source], check=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(library, "infeed/_core.abi3.so")
    (complaint,) = wheel_symbols.check(wheel)
    assert complaint == "infeed/_core.abi3.so needs of_a_newer_glibc, which is not in glibc 2.17"
    assert "infeed/_core.abi3.so" in capsys.readouterr().out
