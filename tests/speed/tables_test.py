"""The tables of scripts/bench.sh, of made-up results."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts/bench"))
sys.dont_write_bytecode = True

import rows  # noqa: E402
import tables  # noqa: E402


def turns(*seconds):
    """A turn of one sample for each."""
    return [{"samples": [s], "step_from_memory": {"median": 0.75 * s},
             "kernels": {"share_of_step": 0.9, "share_of_peak": 0.5}} for s in seconds]


def cells(table, start):
    """Of the line of a table that begins so."""
    lines = [line for line in table.splitlines() if line.startswith("| " + start)]
    assert len(lines) == 1, lines
    return [cell.strip() for cell in lines[0].strip("|").split("|")]


class Rows(unittest.TestCase):
    def test_names_are_unique_and_select_rows_by_how_they_begin(self):
        self.assertEqual(len(set(rows.names())), len(rows.names()))
        self.assertTrue(rows.selects([], "mlp-1t"))
        self.assertTrue(rows.selects(["wide", "mlp"], "mlp-1t"))
        self.assertFalse(rows.selects(["wide"], "mlp-1t"))

    def test_configurations_exist(self):
        for workload in rows.WORKLOADS:
            self.assertTrue((ROOT / workload.config).exists(), workload.config)


class Gpus(unittest.TestCase):
    def test_rows_of_a_gpu_have_no_kernels_but_a_share_of_its_peak(self):
        steps = [{"samples": [0.02], "step_from_memory": {"median": 0.015}}]
        peer = [{"samples": [0.03], "variant": "CUDA graphs"}]
        gpt2, mlp = rows.workload("gpt2"), rows.workload("mlp")
        text = tables.gpu_cells(gpt2, {"Meshwork": steps, "PyTorch": peer}, ["PyTorch"], 989e12)
        self.assertEqual(text[1:], ["8", "20.0 (20.0 to 20.0)", "400", "25 %", "35 %",
                                    "267 (CUDA graphs)", "**1.50**"])
        self.assertEqual(tables.gpu_cells(mlp, {"Meshwork": steps}, [], 989e12)[5], "")
        self.assertEqual(tables.gpu_cells(gpt2, {"Meshwork": steps}, [], None)[5], "")


class Tables(unittest.TestCase):
    def test_ratios_are_those_of_turns(self):
        results = {"mlp-1t": {"Meshwork": turns(0.001, 0.002, 0.004),
                              "PyTorch": turns(0.002, 0.006, 0.004)}}
        table = tables.step_table(results, ["PyTorch", "Keras on JAX"])
        row = cells(table, "MLP")
        self.assertEqual(row[1:], ["128", "1 thread", "2.000 (1.000 to 4.000)", "64000", "25 %",
                                   "90 %", "50 %", "32000", "**2.00**", "", ""])

    def test_the_fastest_peer_of_a_row_is_named(self):
        results = {"mlp-1t": {"Meshwork": turns(0.001, 0.002), "Keras on JAX": turns(0.004, 0.004),
                              "PyTorch": [dict(turn, variant="eager") for turn in turns(0.003, 0.002)]},
                   "fit": {"Meshwork": {"seconds": [1]}, "PyTorch": {"seconds": [2]}}}
        table = tables.fastest_table(results, ["PyTorch", "Keras on JAX"])
        self.assertEqual(cells(table, "mlp-1t"),
                         ["mlp-1t", "PyTorch (eager)", "**2.00** (1.00 to 3.00)"])
        self.assertNotIn("fit", table)

    def test_two_builds_are_compared_turn_by_turn(self):
        results = {"mlp-1t": {"old": [100, 200, 400], "new": [200, 200, 200]},
                   "fit": {"old": [4], "new": [3]}}
        table = tables.against_table(results)
        self.assertEqual(cells(table, "mlp-1t"), ["mlp-1t", "200", "200", "1.000 (0.500 to 2.000)"])
        self.assertEqual(cells(table, "fit"), ["fit", "4.00", "3.00", "0.750 (0.750 to 0.750)"])

    def test_rows_are_compared_with_each_other(self):
        results = {"mlp-1t": {"Meshwork": turns(0.004, 0.004)},
                   "mlp-2r": {"Meshwork": turns(0.002, 0.002)},
                   "mlp-2d": {"Meshwork": turns(0.001, 0.003)}}
        table = tables.scaling_table(results)
        self.assertEqual(cells(table, "model"), ["model", "batch", "2 ranks / 1 thread",
                                                 "2 virtual devices / 2 ranks"])
        self.assertEqual(cells(table, "MLP"),
                         ["MLP 784-128-10", "128", "2.00", "1.33"])

    def test_the_front_page_has_two_threads(self):
        results = {"mlp-1t": {"Meshwork": turns(0.001)},
                   "mlp-2t": {"Meshwork": turns(0.001, 0.002), "PyTorch": turns(0.002, 0.006)},
                   "wide-2t": {"Meshwork": turns(0.256)}}
        table = tables.front_table(results, ["PyTorch"])
        self.assertEqual(cells(table, "model"), ["model", "batch", "samples/s", "times PyTorch"])
        self.assertEqual(cells(table, "MLP 784-128-10"),
                         ["MLP 784-128-10", "128", "85333", "**2.50**"])
        self.assertEqual(cells(table, "MLP 784-4096-4096-10"),
                         ["MLP 784-4096-4096-10", "512", "2000", ""])

    def test_pages_have_a_place_for_their_tables(self):
        for name in "README.md", "scripts/README.md":
            text = (ROOT / name).read_text(encoding="utf-8")
            for mark in "<!-- bench: begin -->\n", "<!-- bench: end -->\n":
                self.assertEqual(text.count(mark), 1, f"{name}: {mark}")

    def test_nothing_measured_gives_no_table(self):
        self.assertEqual(tables.step_table({}, []), "")
        self.assertEqual(tables.front_table({}, []), "")
        self.assertEqual(tables.scaling_table({"mlp-1t": {"Meshwork": turns(1)}}), "")
        self.assertEqual(tables.whole_table({}, []), "")
        self.assertEqual(tables.busy_table({}), "")

    def test_whole_processes_and_their_memory(self):
        mebi = 1 << 20
        results = {"fit": {"Meshwork": {"seconds": [0.5], "peak": [60 * mebi]},
                           "PyTorch": {"seconds": [2.0], "peak": [300 * mebi]}},
                   "memory-mlp": {"held": 54 * mebi}}
        table = tables.whole_table(results, ["PyTorch"])
        self.assertEqual(cells(table, "an epoch")[1:], ["0.50 s", "2.00 s", "**4.00**"])
        row = cells(table, "peak resident memory")
        self.assertTrue(row[0].endswith("(plan and data set: 54.0 MiB)"), row)
        self.assertEqual(row[1:], ["60 MiB", "300 MiB", "**5.00**"])

    def test_fits_beside_busy_neighbours(self):
        table = tables.busy_table({"2 threads": {"alone": [0.5, 1.0], "busy": [1.5, 2.0]}})
        self.assertEqual(cells(table, "2 threads")[1:], ["0.75 s", "1.75 s", "**2.50**"])


unittest.main()
