#!/usr/bin/env python3
"""Measures what checkpoints of 1 GB and weights of 2 GB cost four ranks.

Three comparisons, in turns, with the medians at the end:
  - the writing of a checkpoint of 1 GB, from its directory to its index, and dd with fsync of as
    many bytes;
  - the seconds of an epoch during which a checkpoint is written behind training, and of one
    without;
  - the time to the end of the first step with 2 GB of sharded weights, of four ranks and of four
    threads.

Needs 9 GB of memory, and 6 GB of disk under DIRECTORY, which should be where runs are.

Usage: measure_checkpoints.py [--turns N] [--directory DIRECTORY] [build/src/meshwork]
"""

import argparse
import csv
import glob
import os
import shutil
import statistics
import subprocess
import tempfile
import time

CONFIG = """
mesh: {{model: 4}}
layout_map: {{'.*/kernel': [null, model], '.*/bias': [model]}}
dataset:
  name: made_up
  format: synthetic
  splits: {{train: {{x: {{normal: [{samples}, 8192]}}, y: {{normal: [{samples}, 8]}}}}}}
model:
  input: [8192]
  layers:
    - Dense: {{units: 8192, activation: relu, repeat: {layers}}}
    - Dense: {{units: 8}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.00001}}}}, loss: mse}}
fit: {{batch_size: 8, log_steps: true}}
"""
RANKS = ["mpirun", "--oversubscribe", "-n", "4"]
MIB = 1 << 20


class Runs:
    def __init__(self, program, directory):
        self.program, self.directory = os.path.abspath(program), directory
        self.environment = dict(os.environ, OMP_NUM_THREADS="1")
        if os.geteuid() == 0:
            self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def file(self, name):
        return os.path.join(self.directory, name)

    def start(self, launcher, layers, samples, *options):
        with open(self.file("c.yaml"), "w") as file:
            file.write(CONFIG.format(layers=layers, samples=samples))
        command = [*launcher, self.program, "fit", self.file("c.yaml"), "--verbose", "0",
                   "--overwrite", f"run_directory={self.file('run')}", *options]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def run(self, *arguments):
        process = self.start(*arguments)
        errors = process.communicate()[1]
        if process.returncode != 0:
            raise SystemExit(errors)


def born_and_written(path):
    """Seconds at which a file was made, and last written."""
    text = subprocess.run(["stat", "-c", "%.9W %.9Y", path], check=True, capture_output=True,
                          text=True).stdout
    return [float(word) for word in text.split()]


def checkpoint_seconds(runs):
    runs.run(RANKS, 4, 8, "fit.epochs=1", "checkpoint={every: 1 epoch, keep: 1, async: false}")
    checkpoint, = glob.glob(runs.file("run/checkpoints/*"))
    parts = glob.glob(checkpoint + "/part-*")
    begin = min(born_and_written(part)[0] for part in parts)
    end = born_and_written(checkpoint + "/index.json")[1]
    return end - begin, sum(os.path.getsize(part) for part in parts)


def dd_seconds(runs, size):
    file = runs.file("dd")
    begin = time.monotonic()
    subprocess.run(["dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={size // MIB}",
                    "conv=fsync"], check=True, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    os.remove(file)
    return seconds


def epoch_seconds(runs, every):
    """Median of the epochs behind the first, in which nothing is written yet."""
    runs.run(RANKS, 4, 8 * 100, "fit.epochs=4", f"checkpoint={{every: {every}, keep: 1}}")
    with open(runs.file("run/metrics.csv")) as file:
        return statistics.median(float(row["seconds"]) for row in list(csv.DictReader(file))[1:])


def first_step_seconds(runs, launcher):
    shutil.rmtree(runs.file("run"), ignore_errors=True)
    begin = time.monotonic()
    process = runs.start(launcher, 8, 8 * 100, "fit.epochs=1")
    log = runs.file("run/steps.csv")
    while process.poll() is None:
        if os.path.exists(log):
            with open(log) as file:
                if len(file.readlines()) > 1:
                    break
        time.sleep(0.02)
    seconds = time.monotonic() - begin
    process.kill()
    errors = process.communicate()[1]
    if not os.path.exists(log):
        raise SystemExit(errors)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", nargs="?", default="build/src/meshwork")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--directory", help="for what is written; $TMPDIR by default")
    arguments = parser.parse_args()
    kinds = {"checkpoint": "dd", "epoch with a checkpoint": "epoch without",
             "first step of ranks": "first step of threads"}
    seconds = {kind: [] for pair in kinds.items() for kind in pair}
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        runs = Runs(arguments.program, directory)
        for turn in range(arguments.turns):
            took, size = checkpoint_seconds(runs)
            seconds["checkpoint"].append(took)
            seconds["dd"].append(dd_seconds(runs, size))
            seconds["epoch with a checkpoint"].append(epoch_seconds(runs, "1 epoch"))
            seconds["epoch without"].append(epoch_seconds(runs, "1000 epochs"))
            seconds["first step of ranks"].append(first_step_seconds(runs, RANKS))
            seconds["first step of threads"].append(first_step_seconds(runs, []))
            print(f"turn {turn + 1}: " + ", ".join(f"{kind} {times[-1]:.2f} s"
                                                   for kind, times in seconds.items()), flush=True)
    for ours, other in kinds.items():
        a, b = (statistics.median(seconds[kind]) for kind in (ours, other))
        print(f"{ours}: {a:.2f} s; {other}: {b:.2f} s; ratio {a / b:.2f}")


if __name__ == "__main__":
    main()
