#!/usr/bin/env bash
# Builds Meshwork and trains Fashion-MNIST on a 2x2 mesh of virtual devices, then evaluates the
# weights on threads and under mpirun.
#
#   scripts/demo.sh [key=value ...]    for example fit.epochs=1
set -euo pipefail
cd "$(dirname "$0")/.."

config=configs/fashion_mnist.yaml
run=runs/demo
meshwork=build/src/meshwork

step() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
[ -t 1 ] || step() { printf '\n$ %s\n' "$*"; }

show() {
  step "$@"
  "$@"
}

# Open MPI refuses to run as root unless it is told twice.
under_mpirun() {
  if [ "$(id -u)" -eq 0 ]; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun "$@"
  else
    mpirun "$@"
  fi
}

# The value of a key in a line "final loss=0.35 accuracy=0.87 digest=...".
value_of() { sed -n "s/^final .*\b$1=\([^ ]*\).*/\1/p" "$2" | tail -n 1; }

scripts/setup.sh
[ -f build/build.ninja ] || meson setup build --buildtype=release
ninja -C build src/meshwork

show $meshwork fit $config --overwrite run_directory=$run "$@"

threads=$(mktemp)
ranks=$(mktemp)
trap 'rm -f "$threads" "$ranks"' EXIT
evaluate=($meshwork evaluate $config --from $run "$@")
show "${evaluate[@]}" | tee "$threads"
step mpirun -n 4 --oversubscribe "${evaluate[@]}"
under_mpirun -n 4 --oversubscribe "${evaluate[@]}" | tee "$ranks"

same=differ
if [ -n "$(value_of digest "$threads")" ] &&
   [ "$(value_of digest "$threads")" = "$(value_of digest "$ranks")" ] &&
   [ "$(value_of loss "$threads")" = "$(value_of loss "$ranks")" ]; then
  same="are the same to the last digit"
fi

cat <<END

Trained $config on a mesh of 2 x 2 virtual devices, one thread each; the first
kernels of the network are split over two of them, the batch over the other two.
Accuracy on the test set: $(value_of accuracy "$threads")
Loss and digest of the weights on four threads and on four MPI ranks $same.

What the run wrote is in $run:
$(cd "$run" && find . -type f | sort | sed 's|^\./|  |')

To try next:
  $meshwork paths $config
      every variable, its layout, bytes per device
  $meshwork fit $config --new --mesh 4x1
      the same on another mesh
  mpirun -n 4 --oversubscribe $meshwork fit $config --new
      the same on four MPI ranks
  $meshwork fit $config --resume fit.epochs=6 run_directory=$run
      three more epochs
  $meshwork predict $config --from $run
      outputs for the test set, as .npy
END
[ "$(id -u)" -ne 0 ] || echo '(As root, mpirun wants OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.)'
[ "$same" != differ ]
