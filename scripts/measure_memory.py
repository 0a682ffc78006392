#!/usr/bin/env python3
"""Measures that a sharded layer takes its share of memory, and no more.

Trains a few steps of a network with a hidden layer of 8192 on one rank and on four that shard it,
and prints what each rank holds of weights and optimizer state: as laid out (memory.csv), and as
the growth of its resident memory over the same network with a hidden layer of 4.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile

UNITS = 8192
CONFIG = """
mesh: {{model: 1}}
strategy: model_parallel
batch_axis: model
layout_map:
  d1/kernel: [null, model]
  d1/bias: [model]
  d2/kernel: [model, null]
  input/output: [null, null]
dataset:
  name: memory
  format: synthetic
  splits: {{train: {{x: {{normal: [16, 784]}}, y: {{integers: [16], below: 10}}}}}}
model:
  input: [784]
  layers:
    - Dense: {{name: d1, units: {units}, activation: relu}}
    - Dense: {{name: d2, units: 10}}
compile: {{optimizer: adam, loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}}}
fit: {{batch_size: 8, epochs: 2}}
run_directory: {directory}
"""


def measure(program, units, ranks):
    """Rows of memory.csv as numbers, one for each rank."""
    with tempfile.TemporaryDirectory() as directory:
        config = os.path.join(directory, "memory.yaml")
        with open(config, "w") as file:
            file.write(CONFIG.format(units=units, directory=directory))
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        if os.geteuid() == 0:
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        command = ["mpirun", "--oversubscribe", "-n", str(ranks), program, "fit", config]
        command += ["--mesh", str(ranks), "--verbose", "0"]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        with open(os.path.join(directory, "memory.csv")) as file:
            return [{k: int(v) for k, v in row.items()} for row in csv.DictReader(file)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/src/meshwork",
                        help="build/src/meshwork by default")
    program = parser.parse_args().program
    if shutil.which(program) is None:
        parser.error(f"{program} is no program; build it, or name it")
    whole = measure(program, UNITS, 1)[0]
    parts = measure(program, UNITS, 4)
    empty = {1: measure(program, 4, 1)[0], 4: measure(program, 4, 4)[0]}
    growth = whole["process_peak"] - empty[1]["process_peak"]
    print(f"one rank:  weights and optimizer state {whole['variables']:>11} bytes, "
          f"resident growth {growth:>11}")
    worst = 0.0
    for row in parts:
        ratio = row["variables"] / whole["variables"]
        worst = max(worst, abs(ratio / 0.25 - 1))
        grown = row["process_peak"] - empty[4]["process_peak"]
        print(f"rank {row['device']} of 4: weights and optimizer state {row['variables']:>11} bytes "
              f"({ratio:.4f} of the whole), resident growth {grown:>11} ({grown / growth:.3f})")
    print(f"farthest from a quarter: {100 * worst:.2f} %")
    return 0 if worst <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
