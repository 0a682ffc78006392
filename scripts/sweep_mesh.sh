#!/usr/bin/env bash
# Trains one configuration on several meshes, one after the other, and prints a table: loss,
# accuracy, digest, time of a step, speed-up over the first mesh, memory, and the command that gives
# each row again. The same goes to a CSV file.
#
#   scripts/sweep_mesh.sh [--ranks] [--directory DIR] [--output FILE] CONFIG MESH ... [key=value ...]
#
#   --ranks      a rank for each device, by mpirun; otherwise virtual devices, threads of one process
#   --directory  for the runs, each in a folder of its mesh: runs/sweep-<name of the file> by default
#   --output     the CSV file: sweep.csv in that directory by default
#   MESH         as --mesh takes it: 8x1, or data=2,model=4
#
# A mesh that fails has a row that says why, and the others go on; then it exits with 1. $MESHWORK is
# the program, build/src/meshwork by default.
#
#   scripts/sweep_mesh.sh configs/keras_guide.yaml 8x1 4x2 2x4 1x8 fit.epochs=1
set -euo pipefail

case " $* " in *" --help "* | *" -h "* | "  ")
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
  exit 0
  ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
# mpirun asks root for these two.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
MESHWORK=${MESHWORK:-$root/build/src/meshwork} exec python3 "$root/scripts/sweep_mesh.py" "$@"
