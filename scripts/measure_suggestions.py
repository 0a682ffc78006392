#!/usr/bin/env python3
"""Compares what `meshwork suggest` foretells with what `meshwork plan --time` measures.

    scripts/measure_suggestions.py [--build BUILD] [NAME[:MESH] ...]

    --build    the build directory, build by default
    NAME:MESH  configurations and meshes; by default those of the table in configs/README.md

Prints that table: what a step costs under the suggested layout map, as a part of what it costs where
no weight is split. Every device has one thread, unless OMP_NUM_THREADS says otherwise; the machine
should be quiet. MNIST and tiny Shakespeare must be in $MESHWORK_DATA.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ["fashion_mnist:2x2", "nanogpt_char:2x4", "keras_guide:2x4", "jax_convnet:data=2,model=4",
         "char_lstm:data=2,model=2", "bert:2x4", "resnet:data=2,model=2",
         "bench_gpt:data=2,model=2"]


def in_one_line(layouts):
    """A layout map as YAML for the command line.

    >>> print(in_one_line({"d1/kernel": [None, "model"]}))
    {'d1/kernel': [null, "model"]}
    """
    return "{" + ", ".join(f"'{key}': {json.dumps(dims)}" for key, dims in layouts.items()) + "}"


def run(program, command, name, mesh, *arguments):
    """What a command prints, with one thread for each device."""
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    result = subprocess.run([program, command, f"configs/{name}.yaml", "--mesh", mesh, "--json",
                             *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr.strip())
    return json.loads(result.stdout)


def step_time(program, name, mesh, layouts):
    """Seconds of a step of which nothing is sent behind what is computed."""
    layout_map = f"layout_map={in_one_line(layouts)}"
    return run(program, "plan", name, mesh, "--time", layout_map)["seconds"]["most"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("cases", nargs="*", metavar="NAME[:MESH]")
    arguments = parser.parse_args()
    program = str(ROOT / arguments.build / "src/meshwork")
    print("| configuration | mesh | foretold | measured |\n|---|---|---|---|")
    for case in arguments.cases or CASES:
        name, _, mesh = case.partition(":")
        mesh = mesh or "data=2,model=2"
        found = run(program, "suggest", name, mesh, "layout_map={}")
        before = step_time(program, name, mesh, {})
        after = step_time(program, name, mesh, found["layout_map"])
        foretold = found["after"]["cost"] / found["before"]["cost"]
        print(f"| `{name}.yaml` | {mesh} | {foretold:.2f} | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
