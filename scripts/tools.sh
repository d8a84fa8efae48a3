#!/usr/bin/env bash
# Makes sure that nasm and cmake exist: libjpeg-turbo is built from source and is half as fast without nasm.
# Installs what is missing if that is allowed, otherwise says in one line what to install.
# Usage: tools.sh VENV PYTHON
set -eu
venv=$1 python=$2

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif sudo -n true 2>/dev/null; then sudo "$@"; else return 1; fi
}
apt_install() {
    command -v apt-get >/dev/null || return 1
    as_root apt-get install -y -qq "$1" >/dev/null 2>&1 && return
    as_root apt-get update -qq >/dev/null 2>&1 && as_root apt-get install -y -qq "$1" >/dev/null 2>&1
}

if ! command -v nasm >/dev/null; then
    echo "installing nasm"
    apt_install nasm || { echo "nasm is missing: install it with your package manager (apt install nasm)" >&2; exit 1; }
fi
if ! command -v cmake >/dev/null; then
    echo "installing cmake"
    apt_install cmake || {
        [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
        "$venv/bin/pip" install -q --disable-pip-version-check cmake
    } || { echo "cmake is missing: install it with your package manager or pip (pip install cmake)" >&2; exit 1; }
fi
