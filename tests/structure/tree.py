# SPDX-License-Identifier: BSD-2-Clause
"""The tree that is checked: where it is, its files, and their text."""
import os
import re

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def walk(*tops):
    for top in tops:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in ("build", ".git", "__pycache__"))
            for name in sorted(files):
                yield os.path.relpath(os.path.join(folder, name), root)


def read(path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def c_files(*tops):
    return [p for p in walk(*(tops or ("src", "include", "tests", "bench"))) if p.endswith((".c", ".h"))]


def without_comments(text):
    """The text with comments and strings blanked, lines kept."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)
