#!/usr/bin/env bash
# Installs a wheel or a source distribution into a bare virtual environment (infeed and NumPy, nothing else) and uses it
# as somebody would who has no checkout: the command, its help, the demo, pipelines over data that is made on the spot.
# Usage: try_package.sh PYTHON PACKAGE
# A source distribution is built by pip, which takes minutes; with CARGO_TARGET_DIR set, crates built before are used again.
set -euo pipefail
python=$1 package=$(realpath "$2") here=$(cd "$(dirname "$0")" && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Nothing of the caller's environment may help.
unset PYTHONPATH PYTHONHOME
export INFEED_CACHE=$folder/cache

"$python" -m venv bare
began=$SECONDS
bare/bin/pip install -q --disable-pip-version-check "$package"
installed=$(bare/bin/pip list --format=freeze --disable-pip-version-check --exclude pip --exclude setuptools)
echo "installed in $((SECONDS - began)) s: $(echo $installed)"
if [ "$(echo "$installed" | cut -d= -f1 | sort | xargs)" != "infeed numpy" ]; then
    echo "$package needs more than NumPy" >&2
    exit 1
fi

bare/bin/infeed --version
bare/bin/infeed --help > help.txt
grep -q '^Usage: infeed' help.txt
bare/bin/infeed list formats > formats.txt
bare/bin/infeed demo --samples 200 --seconds 1 --dir demo --keep > demo.txt
bare/bin/infeed inspect demo > inspect.txt
bare/bin/python "$here/try_package.py" demo
