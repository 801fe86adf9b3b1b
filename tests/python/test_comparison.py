# SPDX-License-Identifier: BSD-2-Clause
"""The sentences of docs/comparison.md are true of the files beside it, which bench/fct.py has written."""
import os
import unittest

import pandas as pd

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHORT, LONG, ALL = (1_000, 10_000), (1_000_000, float("inf")), (0, float("inf"))
OTHERS = ["dctcp", "dcqcn", "timely"]


class Comparison(unittest.TestCase):
    def setUp(self):
        self.rows = pd.concat(pd.read_csv(os.path.join(ROOT, "docs", "images", f"fct-{network}.csv"))
                              for network in ("clos", "fat-tree"))
        with open(os.path.join(ROOT, "docs", "comparison.md"), encoding="utf-8") as f:
            self.page = " ".join(f.read().split())

    def values(self, sizes, column):
        """A row for each network, kind of sizes and load, a column for each algorithm."""
        rows = self.rows[(self.rows.above_bytes == sizes[0]) & (self.rows.up_to_bytes == sizes[1])]
        table = rows.pivot(index=["network", "sizes", "load"], columns="algorithm", values=column)
        self.assertEqual(table.shape, (12, 5))
        return table

    def says(self, sentence):
        self.assertTrue(sentence in self.page, sentence)

    def test_queues(self):
        mean, longest = self.values(ALL, "queue_mean_mean"), self.values(ALL, "queue_max_mean")
        for table in (mean, longest):
            self.assertTrue((table[["hpcc", "swift"]].max(axis=1) < table[OTHERS].min(axis=1)).all())
        self.assertTrue((mean.timely == mean.max(axis=1)).all())
        swift_is_shorter = mean.index[mean.swift < mean.hpcc]
        self.assertEqual({key[:2] for key in swift_is_shorter}, {("fat-tree", "hadoop")})
        self.assertEqual(len(swift_is_shorter), 3)
        self.says("the shortest but on the fat tree with Hadoop, where Swift has")

    def test_pauses(self):
        pauses = self.values(ALL, "pauses_max").drop(columns="timely")
        self.assertEqual(pauses.sum().sum(), 1)
        self.assertEqual(pauses.loc[("fat-tree", "websearch", 80), "dcqcn"], 1)
        self.says("TIMELY pauses ports, and DCQCN did so once")

    def test_short_flows(self):
        p99 = self.values(SHORT, "p99_mean")
        both, others = p99[["hpcc", "swift"]], p99[OTHERS]
        least, most = (others.min(axis=1) / both.max(axis=1)).min(), (others.max(axis=1) / both.min(axis=1)).max()
        self.says(f"by a factor of {least:.1f} to {most:.0f} at p99")
        self.assertEqual(list(p99.index[p99.hpcc < p99.swift]), [("clos", "websearch", 50), ("clos", "websearch", 70)])
        self.says("HPCC is before Swift with web search on two tiers at 50 and 70 %")
        timely_is_not_last = p99.index[p99.timely < p99.max(axis=1)]
        self.assertTrue(all(key[:2] == ("fat-tree", "hadoop") for key in timely_is_not_last))
        self.assertEqual(len(timely_is_not_last), 3)
        self.says("TIMELY is last** but on the fat tree with Hadoop")

    def test_long_flows(self):
        p50 = self.values(LONG, "p50_mean")
        longer = p50[["hpcc", "swift"]].div(p50.dctcp, axis=0) - 1
        self.says(f"{100 * longer.min().min():.0f} to {100 * longer.max().max():.0f} % longer")


if __name__ == "__main__":
    unittest.main()
