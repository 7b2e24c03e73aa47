#!/bin/sh
# Checks and times Kernelet's kernels on this machine; see README.md beside this file. Needs python, torch, triton, numpy.
set -eu
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
python=${PYTHON:-python3}
version=$("$python" -c 'import sys; print(f"{sys.version_info[0]}.{sys.version_info[1]}")')
if [ ! -d "$here/site-$version" ]; then
    echo "This bundle has no wheels for Python $version, only for: $(cd "$here" && echo site-*)." >&2
    echo "Set PYTHON, or pack another: hatch run gpu-bundle --python $version" >&2
    exit 2
fi
"$python" -c 'import numpy, torch, triton' || {
    echo "Python at $python lacks one of numpy, torch and triton: set PYTHON to one that has them" >&2
    exit 2
}
PYTHONPATH="$here:$here/site:$here/site-$version" exec "$python" -m gpubench "$@"
