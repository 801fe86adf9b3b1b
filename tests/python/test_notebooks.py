# SPDX-License-Identifier: BSD-2-Clause
"""The notebooks run from their first cell to their last, and what they claim holds.

Cells are run as Jupyter runs them, but in this process: a kernel for each notebook, and Jupyter's
packages, would show nothing more of ours. So cells are Python alone, without commands of a shell.
"""
import ast
import json
import os
import tempfile
import unittest
from contextlib import chdir

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "python", "notebooks")


def run_cell(source, place, names):
    """Runs a cell; the value of an expression at its end is shown, as a notebook does."""
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    if last:
        repr(eval(compile(ast.Expression(last.value), place, "eval"), names))


class Notebooks(unittest.TestCase):
    def check_notebook(self, name, figures):
        with open(os.path.join(FOLDER, name + ".ipynb"), encoding="utf-8") as file:
            notebook = json.load(file)
        self.assertEqual(notebook["nbformat"], 4)
        ids = [cell["id"] for cell in notebook["cells"]]
        self.assertEqual(len(set(ids)), len(ids))
        names = {"__name__": "__main__"}
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            os.symlink(os.path.join(ROOT, "scenarios"), "scenarios")
            for number, cell in enumerate(notebook["cells"], 1):
                if cell["cell_type"] == "code":
                    # Results are not kept in the file: they would be other bytes each time.
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
                    run_cell("".join(cell["source"]), f"{name}.ipynb, cell {number}", names)
            made = {file for file in os.listdir(folder) if file != "scenarios"}
        self.assertEqual(made, {f"{figure}.{kind}" for figure in figures for kind in ("svg", "pdf")})

    def tearDown(self):
        pyplot.close("all")

    def test_dcqcn(self):
        self.check_notebook("dcqcn", ["dcqcn-fairness", "dcqcn-timer", "dcqcn-marking"])

    def test_fixed_point(self):
        self.check_notebook("fixed_point", ["fixed-point"])

    def test_hpcc(self):
        self.check_notebook("hpcc", ["hpcc-slowdown", "hpcc-short"])

    def test_irn(self):
        self.check_notebook("irn", ["irn-slowdown", "irn-size"])

    def test_all_reduce(self):
        self.check_notebook("all_reduce", ["all-reduce"])


if __name__ == "__main__":
    unittest.main()
