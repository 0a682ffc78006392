#!/usr/bin/env bash
# Times training steps and whole runs of Meshwork, and of PyTorch and Keras beside it, on this
# machine, and prints the tables of scripts/README.md.
#
#   scripts/bench.sh [--peers] [--quick] [--turns N] [--output FILE] [--readme] [ROW ...]
#
#   --peers    the same work in PyTorch and in Keras on JAX, turn by turn in the same run
#   --quick    one turn instead of three
#   --output   a file for what is printed, too
#   --readme   puts the tables into scripts/README.md, and the first figures into README.md
#   ROW        only rows whose names begin so: mlp, wide-1t, fit; --list names all
#
# Our own rows need nothing but what setup.sh installs. For the peers:
#   apt install python3-torch libopenblas0-openmp
#   python3 -m venv .cache/keras && .cache/keras/bin/pip install keras jax
set -euo pipefail
cd "$(dirname "$0")/.."

case " $* " in *" --help "* | *" -h "*)
  sed -n '2,/^set/s/^# \{0,1\}//p' scripts/bench.sh
  exit 0
  ;;
esac
[ -f build/build.ninja ] || meson setup build --buildtype=release
ninja -C build src/meshwork tests/speed/step_benchmark tests/mpi/all_reduce_benchmark >&2
exec python3 scripts/bench/bench.py "$@"
