"""Trains one configuration on several meshes and tabulates what their run.json say; see
sweep_mesh.sh, which calls it."""

import argparse
import csv
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

MESH = re.compile(r"[0-9]+(x[0-9]+)*|\w+=[0-9]+(,\w+=[0-9]+)*")
COLUMNS = ["mesh", "devices", "loss", "accuracy", "digest", "step_ms", "samples_per_second",
           "speed_up", "memory_mib", "status", "command"]


def parse_arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--ranks", action="store_true")
    parser.add_argument("--directory")
    parser.add_argument("--output")
    parser.add_argument("config")
    parser.add_argument("rest", nargs="*")
    arguments = parser.parse_intermixed_args()
    arguments.meshes = [word for word in arguments.rest if MESH.fullmatch(word)]
    arguments.overrides = [word for word in arguments.rest if not MESH.fullmatch(word)]
    if not arguments.meshes:
        sys.exit("sweep_mesh.sh: no mesh given; name some, such as 8x1 4x2 2x4 1x8")
    for word in arguments.overrides:
        if "=" not in word:
            sys.exit(f"sweep_mesh.sh: '{word}' is neither a mesh, such as 4x2, nor key=value")
    name = pathlib.Path(arguments.config).stem
    arguments.directory = pathlib.Path(arguments.directory or f"runs/sweep-{name}")
    arguments.output = pathlib.Path(arguments.output or arguments.directory / "sweep.csv")
    return arguments


def devices_of(mesh):
    devices = 1
    for number in re.findall(r"(?:^|[x=])([0-9]+)", mesh):
        devices *= int(number)
    return devices


def command_for(mesh, arguments):
    program = os.environ["MESHWORK"]
    launch = ["mpirun", "--oversubscribe", "-n", str(devices_of(mesh))] if arguments.ranks else []
    return [*launch, program, "fit", arguments.config, "--mesh", mesh, *arguments.overrides,
            f"run_directory={arguments.directory / mesh}", "--overwrite"]


def run(mesh, arguments):
    """The row of one mesh."""
    command = command_for(mesh, arguments)
    row = {"mesh": mesh, "devices": devices_of(mesh), "command": shlex.join(command)}
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True)
    if done.returncode != 0:
        told = [line for line in done.stderr.splitlines() if line.startswith("meshwork: ")]
        row["status"] = f"exit code {done.returncode}: {told[-1] if told else done.stderr.strip()}"
        return row
    record = json.loads(done.stdout)
    metrics = record["metrics"]
    accuracy = next((metrics[name] for name in metrics if "accuracy" in name), None)
    row.update(loss=metrics["loss"], accuracy=accuracy, digest=record["digest"],
               step_ms=1000 * record["step_seconds"]["median"],
               samples_per_second=record["samples_per_second"],
               memory_mib=record["memory"]["arena"] / 2**20, status=record["status"])
    return row


def show(value):
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def print_table(rows):
    names = COLUMNS[:-2]
    cells = [names] + [[show(row.get(name)) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    for number, line in enumerate(cells):
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
        if number > 0 and rows[number - 1]["status"] != "completed":
            print(f"    {rows[number - 1]['status']}")
    print("\nmemory_mib: the arena of the device that takes most. Each row again:")
    for row in rows:
        print(f"  {row['command']}")


def main():
    arguments = parse_arguments()
    rows = []
    for mesh in arguments.meshes:
        print(f"{mesh} ...", file=sys.stderr, flush=True)
        row = run(mesh, arguments)
        first = next((each for each in rows if "samples_per_second" in each), row)
        if "samples_per_second" in row:
            row["speed_up"] = row["samples_per_second"] / first["samples_per_second"]
        rows.append(row)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with open(arguments.output, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    print_table(rows)
    print(f"wrote {arguments.output}", file=sys.stderr)
    sys.exit(any(row["status"] != "completed" for row in rows))


main()
