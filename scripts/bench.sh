#!/usr/bin/env bash
# Times training steps and whole runs of Meshwork, and of PyTorch and Keras beside it, on this
# machine, and prints the tables of scripts/README.md.
#
#   scripts/bench.sh [--peers] [--quick] [--turns N] [--output FILE] [--readme] [ROW ...]
#   scripts/bench.sh --device cuda [--tune] [--peers] [--prepare N] [--variant NAME] [--quick] [--turns N] [--output FILE] [ROW ...]
#   scripts/bench.sh --against BUILD [--turns N] [--seconds S] [--output FILE] [ROW ...]
#
#   --peers    the same work in PyTorch and in Keras on JAX, turn by turn in the same run
#   --device   cuda: on a GPU of NVIDIA, which has rows of its own; float32 is no TF32 there
#   --tune     'meshwork tune' first, for the rows whose steps are mostly products
#   --variant  of the peers' ways to do a row only this, such as "CUDA graphs"; may stand several times
#   --prepare  N: lets the peers compile first, N programs at a time, instead of one after the other; what
#              JAX measures meanwhile, to choose algorithms by, it measures beside others
#   --quick    one turn instead of three
#   --output   a file for what is printed, too
#   --against  another build of Meshwork instead, turn by turn with the one in build: a table of
#              ratios, then the rows with less than 95 % of the other's speed; exits 1 if any
#   --readme   puts the tables into scripts/README.md, and the first figures into README.md
#   ROW        only rows whose names begin so: mlp, wide-1t, fit; --list names all. --rows mlp,fit
#              is the same
#
# Our own rows need nothing but what setup.sh installs. The peers are installed from PyPI, 2 GB, into
# $MESHWORK_PEERS, ~/.cache/meshwork-peers by default; trying which of their ways to do a row is the
# fastest takes half an hour for all rows, for it compiles.
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
