#!/usr/bin/env bash
# Tests the TensorFlow door in an environment of its own, which is made when its list of packages changes.
# If TensorFlow cannot be installed (no network, no wheel for this Python), the tests are skipped with a message.
# Usage: test-tf.sh VENV PYTHON [WHEELS]
# Without WHEELS it only makes the environment, so that this can be done while something else is built.
set -euo pipefail
venv=$1 python=$2 wheels=${3:-}

install() { "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 "$@"; }

if [ ! -e "$venv/.stamp" ] || [ requirements-tf.txt -nt "$venv/.stamp" ]; then
    if ! { "$python" -m venv "$venv" && install -r requirements-tf.txt; }; then
        count=$(cat tests/tf/test_*.py | grep -c '^def test_')
        echo "SKIPPED: $count tests of tests/tf (TensorFlow could not be installed)"
        exit 0
    fi
    touch "$venv/.stamp"
fi
[ -n "$wheels" ] || exit 0
install --force-reinstall --no-deps "$wheels"/infeed-*.whl
export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2}
exec "$venv/bin/python" -m pytest -q tests/tf
