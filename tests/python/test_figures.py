# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps and figures: the right numbers, the same files each time."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import matplotlib
import numpy as np
import pandas as pd
import verbena
from verbena.figures import SIZES

matplotlib.use("agg")
from matplotlib import pyplot

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEBSEARCH = os.path.join(ROOT, "scenarios", "websearch.yaml")
FEW = {"workload.count": 300}
SMALL = {"topology": {"shape": "star", "hosts": 5, "cable": {"rate": "10Gbps", "delay": "1us"}},
         "workload": [{"shape": "incast", "to": 0, "count": 4, "bytes": "50kB"}]}


class Figures(unittest.TestCase):
    def tearDown(self):
        pyplot.close("all")

    def test_nearest_rank(self):
        self.assertEqual(verbena.nearest_rank(range(1, 21), 95), 19)
        self.assertEqual(verbena.nearest_rank(range(1, 21), 99), 20)
        self.assertEqual(verbena.nearest_rank(range(1, 1001), 99.9), 999)
        self.assertEqual(verbena.nearest_rank([5], 0), 5)
        self.assertTrue(np.isnan(verbena.nearest_rank([], 50)))

    def test_comparison_of_algorithms(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", os.path.join(ROOT, "bench", "fct.py"), "--networks", "clos", "--sizes", "websearch",
                       "--loads", "50", "--algorithms", "hpcc,dcqcn", "--seeds", "2", "--per-host", "4", folder]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            self.assertEqual(set(os.listdir(folder)), {"fct-clos.csv", "fct-clos-websearch.svg"})
            table = pd.read_csv(os.path.join(folder, "fct-clos.csv"))
        self.assertEqual(out.count("\n| hpcc | "), 1)
        self.assertTrue((table.p99_min <= table.p99_mean).all() and (table.p99_mean <= table.p99_max).all())
        whole = table[(table.above_bytes == 0) & np.isinf(table.up_to_bytes)].set_index("algorithm")
        bins = table[~((table.above_bytes == 0) & np.isinf(table.up_to_bytes))]
        self.assertEqual(list(bins.groupby("algorithm").flows.sum()), [2 * 4 * 32] * 2)
        self.assertEqual(list(whole.flows), [2 * 4 * 32] * 2)
        short = table[table.up_to_bytes == 10_000].set_index("algorithm")
        self.assertLess(short.p99_mean["hpcc"], short.p99_mean["dcqcn"])
        self.assertLess(whole.queue_mean_mean["hpcc"], whole.queue_mean_mean["dcqcn"])
        for option, value, why in (("--sizes", "cache", '"cache" is none of websearch, hadoop'),
                                   ("--loads", "50,x", '"x" is no whole number from 1 on')):
            wrong = subprocess.run(command[:-1] + [option, value], capture_output=True, text=True, check=False)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(f"argument {option}: {why}", wrong.stderr)

    def test_slowdown_by_size_is_that_of_the_command(self):
        with verbena.Simulation(WEBSEARCH, values=FEW) as sim:
            mine, theirs = verbena.slowdown_by_size(sim.run().flows()), sim.table("slowdown")
        self.assertGreater(len(theirs), 5)
        self.assertEqual(list(mine.flows), list(theirs.flows))
        self.assertEqual(list(mine.above_bytes), list(theirs.above_bytes))
        for name in ("mean", "p50", "p95", "p99", "max"):
            # The table is of thousandths that were rounded down, and so were those of each flow.
            np.testing.assert_allclose(mine[name], theirs["slowdown_" + name], atol=2e-3)

    def test_slowdown_of_no_flows(self):
        flows = pd.DataFrame({"bytes": [10], "slowdown": [np.nan]})
        self.assertEqual(len(verbena.slowdown_by_size(flows)), 0)
        self.assertEqual((len(SIZES), SIZES[0], SIZES[-1]), (19, 1000, 10**9))

    def test_plots(self):
        with verbena.Simulation(WEBSEARCH, values=FEW) as sim:
            flows = sim.run().flows()
        ax = verbena.plot_slowdown({"a": flows, "b": flows.head(50)})
        self.assertEqual([line.get_label() for line in ax.lines], ["a, p50", "a, p99", "b, p50", "b, p99"])
        ax = verbena.plot_cdf({"FCT": flows.fct_ns, "none": []}, "ns", log=True)
        self.assertEqual(len(ax.lines), 1)
        x, y = ax.lines[0].get_data()
        self.assertEqual((x[-1], y[0], y[-1]), (flows.fct_ns.max(), 0, 1))

    def test_cdf_is_the_share_not_above(self):
        x, y = verbena.plot_cdf({"v": [3, 1, 1, 2]}).lines[0].get_data()
        steps = dict(zip(x, y))
        self.assertEqual((steps[1], steps[2], steps[3]), (0.5, 0.75, 1))

    def test_heat_and_bands(self):
        points = pd.DataFrame([{"x": x, "y": y, "seed": seed, "v": 10 * x + y + seed}
                               for x in (1, 2, 3) for y in (5, 6) for seed in (1, 2, 3)])
        ax = verbena.plot_heat(points, "x", "y", "v")
        np.testing.assert_allclose(ax.images[0].get_array(), [[17, 27, 37], [18, 28, 38]])
        self.assertEqual([text.get_text() for text in ax.get_xticklabels()], ["1", "2", "3"])
        ax = verbena.plot_bands(points, "x", "v", by="y")
        line, _, (bars,) = ax.containers[1]
        np.testing.assert_allclose(np.asarray(line.get_data()[1], float), [18, 28, 38])
        np.testing.assert_allclose(bars.get_segments()[0][:, 1], [17, 19])

    def test_files_are_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("one", "two"):
                paths = verbena.save(verbena.plot_cdf({"v": [1, 2, 3]}), os.path.join(folder, name))
                self.assertEqual([os.path.splitext(path)[1] for path in paths], [".svg", ".pdf"])
            for kind in ("svg", "pdf"):
                one, two = (open(os.path.join(folder, f"{name}.{kind}"), "rb") for name in ("one", "two"))
                with one, two:
                    text = one.read()
                    self.assertEqual(text, two.read())
                    self.assertRegex(text[:200], b"<svg|%PDF|<.xml")


class Sweep(unittest.TestCase):
    def test_points(self):
        points = verbena.sweep(SMALL, {"workload.0.bytes": ["10kB", "50kB"], "transport.depth": [1, 4]}, seeds=[3, 9],
                               measure=lambda sim: {"fct": sim.flows().fct_ns.max(), "at": sim.now}, processes=2)
        self.assertEqual(list(points.columns), ["workload.0.bytes", "transport.depth", "seed", "fct", "at"])
        self.assertEqual(list(points.seed), [3, 9] * 4)
        self.assertEqual(list(points["workload.0.bytes"]), ["10kB"] * 4 + ["50kB"] * 4)
        self.assertGreater(points.fct[4], 3 * points.fct[0])

    def test_processes_change_nothing(self):
        grid = {"faults.loss": [0, "1e-2"]}
        one, two = (verbena.sweep(SMALL, grid, seeds=2, processes=n) for n in (1, 2))
        pd.testing.assert_frame_equal(one, two)
        self.assertEqual(len(one), 4)
        self.assertNotEqual(one.digest[2], one.digest[3])

    def test_points_are_those_of_the_command(self):
        points = verbena.sweep(WEBSEARCH, {"workload.count": [60, 90]}, seeds=2)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.environ["VERBENA"], "sweep", WEBSEARCH, "--out", os.path.join(folder, "out"), "--grid",
                            "workload.count=60,90", "--seeds", "2"], check=True, capture_output=True)
            with open(os.path.join(folder, "out", "sweep.json"), encoding="utf-8") as file:
                theirs = re.findall(r'"fct_p99_ns": (\d+)', file.read())
        self.assertEqual([str(value) for value in points.fct_p99_ns], theirs)

    def test_a_wrong_value_is_told(self):
        with self.assertRaisesRegex(verbena.ScenarioError, "with transport.timeout=99"):
            verbena.sweep(SMALL, {"transport.timeout": [10, 99]}, processes=2)


if __name__ == "__main__":
    unittest.main()
