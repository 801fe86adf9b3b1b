# SPDX-License-Identifier: BSD-2-Clause
"""The Python code of docs/python.md runs as it stands there."""
import os
import re
import shutil
import tempfile
import unittest

import matplotlib

matplotlib.use("agg")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Document(unittest.TestCase):
    def test_code(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
        self.assertGreaterEqual(len(blocks), 2)
        names = {"print": lambda *_: None}
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(ROOT, "scenarios"), os.path.join(folder, "scenarios"))
            os.chdir(folder)
            try:
                for number, block in enumerate(blocks, 1):
                    exec(compile(block, f"docs/python.md, block {number}", "exec"), names)
            finally:
                os.chdir(before)
            self.assertTrue({"incast.svg", "incast.pdf"} <= set(os.listdir(folder)))
        self.assertEqual(list(names["rates"].columns), [0, 1])


if __name__ == "__main__":
    unittest.main()
