"""Rows that are no steps: whole processes, their memory, an all-reduce, busy neighbours."""

import contextlib
import csv
import itertools
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import rows
from tools import CORES, Failed, Meshwork, Process, ROOT, complain


def times(tools, turns, workload, steps):
    """Of each tool: {"seconds": [..], "peak": [..]}, turn by turn."""
    found = {tool.name: {"seconds": [], "peak": []} for tool in tools}
    for turn in range(turns):
        for tool in tools:
            process = tool.fit(workload, steps)
            complain(f"{workload.name}, whole process, turn {turn + 1}: {tool.name} "
                     f"{process.seconds:.2f} s")
            found[tool.name]["seconds"].append(process.seconds)
            found[tool.name]["peak"].append(process.peak)
    return found


def held_bytes(ours, workload, steps):
    """Bytes of the plan and of the data set, which a process holds both, as a run says itself."""
    with tempfile.TemporaryDirectory() as directory:
        ours.fit(workload, steps, directory)
        with open(pathlib.Path(directory) / "memory.csv", encoding="utf-8") as file:
            device = next(csv.DictReader(file))
            return int(device["arena"]) + int(device["data"])


def all_reduce(ours, turns):
    """Medians in seconds of 16 MiB over 2 ranks: ours and MPI_Allreduce's, of every turn.

    Ours as steps do it: prepared once, in memory that the ranks share.
    """
    found = {"all_reduce": [], "MPI_Allreduce": []}
    names = {"shared": "all_reduce", "MPI_Allreduce": "MPI_Allreduce"}
    program = ROOT / "build/tests/mpi/all_reduce_benchmark"
    for _ in range(turns):
        out = Process([*ours.mpirun(2), program], ours.environment(1)).out
        for name, median in re.findall(r"^(\w+) +n 2 +16777216 B +[\d.]+ +([\d.]+)", out, re.M):
            if name in names:
                found[names[name]].append(float(median) * 1e-6)
    if not all(found.values()):
        raise Failed("all_reduce_benchmark printed no line for 16777216 B")
    return found


@contextlib.contextmanager
def busy_neighbours():
    """A process that does nothing but compute, for each core."""
    words = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(words) for _ in CORES]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def beside_neighbours(ours, turns):
    """By text of what a fit runs on: its seconds alone, and with neighbours, turn by turn."""
    found = {}
    for turn in range(turns):
        for way in rows.TWO_THREADS, rows.TWO_DEVICES, rows.TWO_RANKS:
            seconds = found.setdefault(way.text, {"alone": [], "busy": []})
            seconds["alone"].append(ours.fit(WORKLOADS["convnet64"], 100, way=way).seconds)
            with busy_neighbours():
                seconds["busy"].append(ours.fit(WORKLOADS["convnet64"], 100, way=way).seconds)
            complain(f"{way.text}, turn {turn + 1}: alone {seconds['alone'][-1]:.2f} s, "
                     f"with busy neighbours {seconds['busy'][-1]:.2f} s")
    return found


def generated(tools, turns):
    """Tokens a second by text of what generates them and name of tool."""
    found = {}
    for _ in range(turns):
        for way, bf16 in itertools.product(rows.THREADS, (False, True)):
            text = way.text + (", bfloat16" if bf16 else "")
            for tool in tools:
                if not hasattr(tool, "generate"):
                    continue
                try:
                    samples = tool.generate(way, bf16)
                except Failed as reason:
                    complain(f"generate, {text}: {tool.name} failed: {reason}")
                    continue
                found.setdefault(text, {}).setdefault(tool.name, []).extend(samples)
                complain(f"generate, {text}: {tool.name} {statistics.median(samples):.0f} "
                         "tokens/s")
    return found


def measure(tools, turns, wanted):
    """Results by name of row; those of the processes by name of tool."""
    ours = next(tool for tool in tools if isinstance(tool, Meshwork))
    mlp, wide = rows.workload("mlp"), rows.workload("wide")
    results = {}
    if "fit" in wanted or "memory-mlp" in wanted:
        results["fit"] = times(tools, turns, mlp, None)
        results["memory-mlp"] = {"held": held_bytes(ours, mlp, None)}
    if "first-step" in wanted:
        results["first-step"] = times(tools, turns, mlp, 1)
    if "memory-wide" in wanted:
        results["memory-wide"] = {"held": held_bytes(ours, wide, 3), **times(tools, 1, wide, 3)}
    if "all-reduce" in wanted:
        results["all-reduce"] = all_reduce(ours, turns)
    if "generate" in wanted:
        results["generate"] = generated(tools, turns)
    if "busy" in wanted and len(CORES) > 1:
        results["busy"] = beside_neighbours(ours, turns)
    return results
