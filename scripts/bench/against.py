"""Two builds of Meshwork against each other, turn by turn: what a change did to the speed."""

import functools
import statistics

import rows
import tables
from tools import CORES, Failed, Meshwork, complain

LEAST = 0.95  # of the old speed
WHOLE = {"fit": None, "first-step": 1}  # steps of rows that are whole processes


class Stopwatch:
    """Samples per second of a row, for which both builds are asked in the same way."""

    def __init__(self, builds, seconds):
        self.seconds = seconds
        # A build without a benchmark of its own is timed by whole runs, and so is the other then.
        self.by_fit = any(not build.benchmark.exists() for build in builds)
        self.build = builds[0]

    def rate(self, build, workload, way):
        if self.by_fit:
            return workload.batch / self.step_of_fits(build, workload, way)
        samples = build.step(workload, way, self.seconds, kernels=False)["samples"]
        return workload.batch / statistics.median(samples)

    def step_of_fits(self, build, workload, way):
        """Seconds: what more steps take longer."""
        few, many = 4, self.many(workload, way)
        short = build.steps(workload, way, few).seconds
        long = build.steps(workload, way, many).seconds
        if long <= short:
            raise Failed("more steps took less time; the machine is busy")
        return (long - short) / (many - few)

    @functools.lru_cache(maxsize=None)
    def many(self, workload, way):
        """Steps that take the time of a turn."""
        start = self.build.steps(workload, way, 4).seconds
        count = 16
        while self.build.steps(workload, way, count).seconds < start + self.seconds / 2:
            count *= 4
        return count

    def whole(self, build, row):
        """Processes per second."""
        return 1 / build.fit(rows.workload("mlp"), WHOLE[row]).seconds


def measurements(stopwatch, prefixes, notes):
    """(row, what gives a figure of a build) of what is to be timed."""
    found = []
    for workload in rows.WORKLOADS:
        for way in workload.ways:
            row = f"{workload.name}-{way.name}"
            if not rows.selects(prefixes, row):
                continue
            alone = way.kind != "ranks" and way.count == 2 and len(CORES) < 2
            reason = "one core" if alone else stopwatch.build.runs(workload, way)
            if reason:
                notes.append(f"{row}: left out: {reason}")
                continue
            found.append((row, lambda build, w=workload, on=way: stopwatch.rate(build, w, on)))
    found += [(row, lambda build, row=row: stopwatch.whole(build, row))
              for row in WHOLE if rows.selects(prefixes, row)]
    return found


def measure(old, new, arguments, notes):
    """Figures by row: {"old": [..], "new": [..]}, a turn each."""
    stopwatch = Stopwatch([old, new], arguments.seconds)
    results = {}
    for row, figure in measurements(stopwatch, arguments.rows, notes):
        turns = {"old": [], "new": []}
        try:
            for _ in range(arguments.turns):
                for build in old, new:
                    turns[build.name].append(figure(build))
        except Failed as reason:
            notes.append(f"{row}: failed: {reason}")
            complain(notes[-1])
            continue
        results[row] = turns
        complain(f"{row}: {statistics.median(tables.ratios(turns['new'], turns['old'])):.3f}")
    return results


def run(arguments):
    """The report, and whether no row falls below LEAST."""
    old, new = Meshwork(arguments.against, "old"), Meshwork(name="new")
    notes = []
    results = measure(old, new, arguments, notes)
    slower = [row for row, turns in results.items()
              if statistics.median(tables.ratios(turns["new"], turns["old"])) < LEAST]
    verdict = (f"Below {100 * LEAST:.0f} %: {', '.join(slower)}." if slower
               else f"No row is below {100 * LEAST:.0f} %.")
    head = f"{old.tree} (old) against {new.tree} (new), {arguments.turns} turns.\n"
    parts = [head, tables.against_table(results), verdict + "\n",
             "".join(f"- {note}\n" for note in notes)]
    return "\n".join(part for part in parts if part), not slower and bool(results)
