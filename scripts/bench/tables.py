"""Results as Markdown."""

import datetime
import os
import platform
import re
import statistics

import rows

MIB = 1024 * 1024


def ratios(numerators, denominators):
    """Turn by turn."""
    return [a / b for a, b in zip(numerators, denominators)]


def ratio(slower, faster):
    """How many times faster, in the median of the turns."""
    return statistics.median(ratios(slower, faster))


def medians(turns):
    """Seconds of a step in every turn."""
    return [statistics.median(turn["samples"]) for turn in turns]


def table(head, lines):
    if not lines:
        return ""
    shown = ["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *lines]]
    return "\n".join(shown) + "\n"


def milliseconds(samples):
    digits = 3 if statistics.median(samples) < 0.01 else 1
    least, middle, most = (f"{1e3 * value:.{digits}f}" for value in
                           (min(samples), statistics.median(samples), max(samples)))
    return f"{middle} ({least} to {most})"


def percent(value):
    return f"{100 * value:.0f} %"


def peer_cells(workload, results, peers):
    """What each peer did, and by how many times our samples a second are more."""
    cells = []
    for peer in peers:
        turns = results.get(peer)
        cells += ["", ""] if not turns else [
            f"{workload.batch / statistics.median(medians(turns)):.0f} {variant(turns)}".strip(),
            f"**{ratio(medians(turns), medians(results['Meshwork'])):.2f}**"]
    return cells


def step_cells(workload, way, results, peers):
    ours = results["Meshwork"]
    samples = [sample for turn in ours for sample in turn["samples"]]
    seconds = statistics.median(medians(ours))
    memory = statistics.median(turn["step_from_memory"]["median"] for turn in ours)
    kernels = ours[0]["kernels"]
    # Eight devices on two cores wait for each other whatever they do.
    alone = way.count <= 2
    cells = [workload.text, str(workload.batch), way.text, milliseconds(samples),
             f"{workload.batch / seconds:.0f}", percent(max(0, 1 - memory / seconds)),
             percent(kernels["share_of_step"]) if alone else "",
             percent(kernels["share_of_peak"]) if alone else ""]
    return cells + peer_cells(workload, results, peers)


# Multiplications and additions a second of bfloat16 by tensor cores, of dense matrices, by the data
# sheets.
PEAKS = {"H100 80GB HBM3": 989e12, "H200": 989e12}


def gpu_cells(workload, row, peers, peak):
    """Medians of turns; `peak`: of the GPU, None where it is not known."""
    ours = row["Meshwork"]
    seconds = statistics.median(medians(ours))
    memory = statistics.median(turn["step_from_memory"]["median"] for turn in ours)
    samples = [sample for turn in ours for sample in turn["samples"]]
    is_counted = peak and workload.bf16 and workload.flops
    cells = [workload.text, str(workload.batch), milliseconds(samples),
             f"{workload.batch / seconds:.0f}", percent(max(0, 1 - memory / seconds)),
             percent(workload.batch * workload.flops / seconds / peak) if is_counted else ""]
    return cells + peer_cells(workload, row, peers)


def gpu_table(results, peers, gpu):
    peak = next((peak for name, peak in PEAKS.items() if name in gpu), None)
    head = ["model", "batch", "ms per step (least to most)", "samples/s", "input", "of the peak"]
    for peer in peers:
        head += [f"{peer}, samples/s", "times"]
    found = [(workload, results.get(f"{workload.name}-{rows.ONE_GPU.name}", {}))
             for workload in rows.WORKLOADS]
    return table(head, [gpu_cells(workload, row, peers, peak) for workload, row in found
                        if row.get("Meshwork")])


def variant(turns):
    return f"({turns[0]['variant']})" if "variant" in turns[0] else ""


def fastest_table(results, peers):
    """Of every row: Meshwork and whichever peer was the fastest."""
    lines = []
    for row, turns in results.items():
        found = [peer for peer in peers if turns.get(peer)]
        if row not in rows.WHOLE and turns.get("Meshwork") and found:
            fastest = min(found, key=lambda peer: statistics.median(medians(turns[peer])))
            times = ratios(medians(turns[fastest]), medians(turns["Meshwork"]))
            lines.append([row, f"{fastest} {variant(turns[fastest])}".strip(),
                          f"**{statistics.median(times):.2f}** ({min(times):.2f} to "
                          f"{max(times):.2f})"])
    return table(["row", "fastest peer", "times (least to most)"], lines)


def step_table(results, peers):
    head = ["model", "batch", "on", "ms per step (least to most)", "samples/s", "input", "kernels",
            "peak"]
    for peer in peers:
        head += [f"{peer}, samples/s", "times"]
    lines = []
    for workload in rows.WORKLOADS:
        for way in workload.ways:
            row = results.get(f"{workload.name}-{way.name}", {})
            if row.get("Meshwork"):
                lines.append(step_cells(workload, way, row, peers))
    return table(head, lines)


def front_table(results, peers):
    """For README.md: training on two threads, and how many times a peer's speed that is."""
    lines = []
    for workload in rows.WORKLOADS:
        row = results.get(f"{workload.name}-{rows.TWO_THREADS.name}", {})
        ours = row.get("Meshwork")
        if not ours:
            continue
        speed = workload.batch / statistics.median(medians(ours))
        cells = [workload.text, str(workload.batch), f"{speed:.0f}"]
        for peer in peers:
            turns = row.get(peer)
            cells.append(f"**{ratio(medians(turns), medians(ours)):.2f}**" if turns else "")
        lines.append(cells)
    return table(["model", "batch", "samples/s", *(f"times {peer}" for peer in peers)], lines)


def scaling_table(results):
    """Rows of one workload against each other: they were timed turn by turn, too."""
    def speedup(workload, slow, fast, other=None):
        one = results.get(f"{workload}-{slow}", {}).get("Meshwork")
        two = results.get(f"{other or workload}-{fast}", {}).get("Meshwork")
        return f"{ratio(medians(one), medians(two)):.2f}" if one and two else ""

    lines = []
    for workload in rows.WORKLOADS:
        name = workload.name
        cells = [speedup(name, "1t", "2t"), speedup(name, "1t", "2r"), speedup(name, "2r", "2d"),
                 speedup(name, "2r", "8r"), speedup(name, "2d", "8d"),
                 speedup(name.removesuffix("-bf16"), "1t", "1t", name) if workload.bf16 else ""]
        if any(cells):
            lines.append([workload.text, str(workload.batch), *cells])
    head = ["model", "batch", "2 threads / 1", "2 ranks / 1 thread", "2 virtual devices / 2 ranks",
            "8 ranks / 2", "8 virtual devices / 2", "bfloat16 / float32, 1 thread"]
    kept = [0, 1] + [i for i in range(2, len(head)) if any(line[i] for line in lines)]
    return table([head[i] for i in kept], [[line[i] for i in kept] for line in lines])


def whole_table(results, peers):
    head = ["whole process", "Meshwork"]
    for peer in peers:
        head += [peer, "times"]
    lines = []

    def add(row, unit, values, format_of):
        ours = values.get("Meshwork")
        if not ours:
            return
        cells = [rows.WHOLE[row], format_of(statistics.median(ours)) + unit]
        for peer in peers:
            theirs = values.get(peer)
            cells += ["", ""] if not theirs else [format_of(statistics.median(theirs)) + unit,
                                                  f"**{ratio(theirs, ours):.2f}**"]
        lines.append(cells)

    def of(row, key):
        return {name: found[key] for name, found in results.get(row, {}).items()
                if isinstance(found, dict)}

    for row in "fit", "first-step":
        add(row, " s", of(row, "seconds"), "{:.2f}".format)
    for row, source in ("memory-mlp", "fit"), ("memory-wide", "memory-wide"):
        add(row, " MiB", of(source, "peak"), lambda value: f"{value / MIB:.0f}")
        if row in results and lines:
            lines[-1][0] += f" (plan and data set: {results[row]['held'] / MIB:.1f} MiB)"
    return table(head, lines)


def against_table(results):
    """Of two builds: samples (of whole processes: runs) per second."""
    lines = []
    for row, turns in results.items():
        pairs = ratios(turns["new"], turns["old"])
        digits = 0 if row not in rows.WHOLE else 2
        lines.append([row, *(f"{statistics.median(turns[build]):.{digits}f}"
                             for build in ("old", "new")),
                      f"{statistics.median(pairs):.3f} ({min(pairs):.3f} to {max(pairs):.3f})"])
    return table(["row", "old, per second", "new, per second", "new / old (least to most)"], lines)


def all_reduce_line(found):
    if not found:
        return ""
    ours, theirs = found["all_reduce"], found["MPI_Allreduce"]
    return (f"All-reduce of {rows.WHOLE['all-reduce']}: {1e3 * statistics.median(ours):.2f} ms; "
            f"MPI_Allreduce: {1e3 * statistics.median(theirs):.2f} ms, "
            f"**{ratio(theirs, ours):.2f}** times as long.\n")


def generate_table(found):
    """Tokens a second: medians."""
    peers = [name for name in next(iter(found.values()), {}) if name != "Meshwork"]
    head = [rows.WHOLE["generate"], "Meshwork, tokens/s"]
    head += [cell for name in peers for cell in (f"{name}, tokens/s", "times")]
    lines = []
    for text, tools in found.items():
        cells = [text, f"{statistics.median(tools['Meshwork']):.0f}"]
        for name in peers:
            theirs = tools.get(name, [])
            cells += ["", ""] if not theirs else [
                f"{statistics.median(theirs):.0f}",
                f"**{statistics.median(tools['Meshwork']) / statistics.median(theirs):.2f}**"]
        lines.append(cells)
    return table(head, lines)


def busy_table(found):
    """Of fits alone and beside one busy process on each core, where two times is a fair share."""
    head = [rows.WHOLE["busy"], "alone", "beside a busy process on each core", "times as long"]
    lines = [[text, *(f"{statistics.median(seconds[name]):.2f} s" for name in ("alone", "busy")),
              f"**{ratio(seconds['busy'], seconds['alone']):.2f}**"]
             for text, seconds in found.items()]
    return table(head, lines)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
             if re.search(rf"\b{flag}\b", text)]
    name = model.group(1) if model else platform.machine()
    return f"{name} ({', '.join(known)})" if known else name


def system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def everything(results, tools, notes, command):
    peers = [tool.name for tool in tools if tool.name != "Meshwork"]
    today = datetime.date.today()
    gpu = tools[0].gpu() if rows.on_gpu() else ""
    head = (f"`{command}`, {today.day} {today:%B %Y}, {len(os.sched_getaffinity(0))} cores of "
            f"{processor()}, {gpu + ', ' if gpu else ''}{system()}; {', '.join(tool.versions() for tool in tools)}.\n")
    parts = [head]
    if gpu:
        parts += [gpu_table(results, peers, gpu), fastest_table(results, peers)]
    else:
        parts += [step_table(results, peers), fastest_table(results, peers),
                  scaling_table(results), whole_table(results, peers),
                  generate_table(results.get("generate", {})),
                  busy_table(results.get("busy", {})),
                  all_reduce_line(results.get("all-reduce"))]
    parts.append("".join(f"- {note}\n" for note in notes))
    return "\n".join(part for part in parts if part)
