#!/usr/bin/env python3
"""Times Meshwork, and its peers beside it; started by scripts/bench.sh, which says how."""

import argparse
import concurrent.futures
import json
import pathlib
import re
import statistics
import sys
import time

import against
import rows
import tables
import whole
from tools import CORES, Failed, Keras, Meshwork, ROOT, Torch, complain

BEGIN, END = "<!-- bench: begin -->\n", "<!-- bench: end -->\n"


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--against", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME",
                        help="of the peers' ways to do a row, only this; may stand several times")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--tune", action="store_true",
                        help="on a GPU: measure products first, where they are most of a step")
    parser.add_argument("--prepare", type=int, metavar="N",
                        help="let the peers compile first, N programs at a time, for their caches")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--turns", type=int)
    parser.add_argument("--seconds", type=float, default=0.8,
                        help="to time the steps of a turn for")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, help="a file for all samples")
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rows", type=lambda text: text.split(","), default=[], dest="listed")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    arguments = parser.parse_args()
    arguments.rows += arguments.listed
    if arguments.device == "cuda":
        if arguments.readme or arguments.against:
            parser.error("--device cuda goes with neither --readme nor --against")
        rows.turn_to_gpu()
    elif arguments.tune:
        parser.error("--tune goes with --device cuda")
    for prefix in arguments.rows:
        if not any(name.startswith(prefix) for name in rows.names()):
            parser.error(f"there is no row '{prefix}'; --list names all")
    if arguments.against and not (arguments.against / "src/meshwork").exists():
        parser.error(f"--against {arguments.against}: there is no src/meshwork in it; build it")
    if arguments.turns is None:
        arguments.turns = 1 if arguments.quick else 3
    return arguments


def find_tools(with_peers, variants, notes):
    tools = [Meshwork()]
    for peer in (Torch, Keras) if with_peers else ():
        try:
            tools.append(peer(variants))
        except Failed as reason:
            notes.append(f"{peer.name} is missing: {reason}")
            complain(notes[-1])
    return tools


def planned(workload, tools, arguments):
    """Ways of a workload that are asked for, and the tools that run each."""
    for way in workload.ways:
        if rows.selects(arguments.rows, f"{workload.name}-{way.name}"):
            yield way, [tool for tool in tools if tool.runs(workload, way) is None]


def prepare(peers, arguments):
    """Runs all that peers will be timed with once. What fails here fails again when it is timed."""
    start = time.monotonic()

    def run(peer, workload, way, words):
        try:
            peer.turn(workload, way, 0.1, words)
        except Failed:
            pass

    for peer in peers:
        peer.keep_compiled()
    with concurrent.futures.ThreadPoolExecutor(arguments.prepare) as pool:
        for workload in rows.WORKLOADS:
            for way, able in planned(workload, peers, arguments):
                for peer in able:
                    for words in peer.tried(workload).values():
                        pool.submit(run, peer, workload, way, words)
    complain(f"peers are prepared after {time.monotonic() - start:.0f} s")


def time_workload(workload, tools, arguments, notes):
    """Turns of every tool by row and name of tool."""
    plan = []
    for way, able in planned(workload, tools, arguments):
        row = f"{workload.name}-{way.name}"
        if way.kind != "ranks" and way.count == 2 and len(CORES) < 2:
            notes.append(f"{row}: left out on one core")
            continue
        reason = tools[0].runs(workload, way)
        if reason:
            notes.append(f"{row}: left out: {reason.split(';')[0]}")
            continue
        plan += [(row, way, tool) for tool in able]
    if plan and arguments.tune and workload.products:
        tools[0].tune(workload)
    results = {}
    for turn in range(arguments.turns):
        for row, way, tool in plan:
            turns = results.setdefault(row, {}).setdefault(tool.name, [])
            if len(turns) < turn:
                continue  # has failed
            try:
                turns.append(tool.step(workload, way, arguments.seconds, kernels=turn == 0))
            except Failed as reason:
                notes.append(f"{row}: {tool.name} failed: {reason}")
                complain(notes[-1])
                continue
            milliseconds = 1e3 * statistics.median(turns[-1]["samples"])
            complain(f"{row}, turn {turn + 1}: {tool.name} {milliseconds:.3f} ms")
    return results


def keep(arguments, results, tools, notes):
    """The tables, written where they are wanted: after each workload, for who is stopped."""
    words = [word for word in sys.argv[1:] if word != "--readme"]
    text = tables.everything(results, tools, notes, " ".join(["scripts/bench.sh", *words]))
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return text


def put_into(name, text):
    """Puts a text between the marks of a file of the project."""
    file = ROOT / name
    whole_text = file.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.S)
    if len(pattern.findall(whole_text)) != 1:
        sys.exit(f"{name}: there must be one {BEGIN.strip()} .. {END.strip()}")
    file.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}\n{END}", whole_text),
                    encoding="utf-8")


def main():
    arguments = parse()
    if arguments.list:
        print("\n".join(rows.names()))
        return
    if arguments.against:
        text, kept = against.run(arguments)
        print(text)
        if arguments.output:
            arguments.output.write_text(text, encoding="utf-8")
        sys.exit(0 if kept else 1)
    start = time.monotonic()
    notes, results = [], {}
    tools = find_tools(arguments.peers, arguments.variant, notes)
    if arguments.prepare:
        prepare(tools[1:], arguments)
    for workload in rows.WORKLOADS:
        found = time_workload(workload, tools, arguments, notes)
        results.update(found)
        if found:
            keep(arguments, results, tools, notes)
    wanted = {row for row in rows.WHOLE if rows.selects(arguments.rows, row)}
    try:
        results.update(whole.measure(tools, arguments.turns, wanted))
    except Failed as reason:
        notes.append(f"whole processes: failed: {reason}")
    text = keep(arguments, results, tools, notes)
    print(text)
    complain(f"took {(time.monotonic() - start) / 60:.1f} minutes")
    if arguments.readme:
        peers = [tool.name for tool in tools if tool.name != "Meshwork"]
        put_into("scripts/README.md", text)
        put_into("README.md", tables.front_table(results, peers))


if __name__ == "__main__":
    main()
