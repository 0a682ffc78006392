#!/usr/bin/env python3
"""Measures how much faster two ranks train the demonstration than one, each with one thread.

Runs both in turn, and prints the seconds of whole runs (start-up and data included) and their
ratio, turn by turn and in the median.

Usage: measure_ranks.py [turns] [build/src/meshwork]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time


def seconds(program, ranks, directory):
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = ["mpirun", "-n", str(ranks), program, "fit", "configs/fashion_mnist.yaml"]
    command += ["--mesh", f"{ranks}x1", "--verbose", "0", f"run_directory={directory}"]
    start = time.monotonic()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    program = sys.argv[2] if len(sys.argv) > 2 else "build/src/meshwork"
    ratios = []
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(turns):
            one, two = (seconds(program, ranks, directory) for ranks in (1, 2))
            ratios.append(one / two)
            print(f"1 rank {one:.2f} s, 2 ranks {two:.2f} s: {ratios[-1]:.2f} times faster")
    print(f"median: {statistics.median(ratios):.2f} times faster "
          f"({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
