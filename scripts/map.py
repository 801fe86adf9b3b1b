#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes docs/map.md: the folders of src/ with a line for each file, which is the first sentence of its first comment.

  scripts/map.py [--check]

--check writes nothing and fails when the page is not what would be written.
"""
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "map.md")
HEAD = """# Map

Every folder of `src/`, and each of its files with the first sentence of its own description. A header and its source stand
in one line. [Architecture](architecture.md) has the rules between folders. This page is written by `scripts/map.py`.
"""
LIBRARY_ORDER = re.compile(r"^foreach\(folder ([^)]*)\)", re.M)


def first_sentence(path):
    """Of the comment behind the SPDX line; the empty text when there is none."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    comment = next((c for c in re.findall(r"/\*(.*?)\*/", text, re.S) if "SPDX-License-Identifier" not in c), "")
    words = " ".join(line.strip().lstrip("*").strip() for line in comment.splitlines()).strip()
    m = re.match(r"(.*?[.:])(?:\s+[A-Z@`(]|$)", words)
    return (m.group(1) if m else words).rstrip(":.").replace("|", "\\|")


def is_pointer(sentence):
    """True when it says little more than where to look."""
    return re.search(r"\bsee [\w/]+\.h$", sentence, re.I) is not None


def rows(folder):
    """(names, sentence) for each file of @folder, a header with its source."""
    stems = {}
    for name in sorted(os.listdir(folder)):
        stem, ext = os.path.splitext(name)
        if ext in (".c", ".h", ".def"):
            stems.setdefault(stem if ext != ".def" else name, []).append(name)
    for names in stems.values():
        names.sort(key=lambda n: not n.endswith(".h"))
        sentences = [first_sentence(os.path.join(folder, n)) for n in names]
        best = next((s for s in sentences if s and not is_pointer(s)), sentences[0])
        yield sorted(names), best


def folders():
    """The folders of src/, in the order of dependency, each followed by those in it."""
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as f:
        order = ["base"] + LIBRARY_ORDER.search(f.read()).group(1).split()
    for top in order:
        for path, inside, _ in os.walk(os.path.join(ROOT, "src", top)):
            inside.sort()
            yield path


def page():
    text = [HEAD]
    for folder in folders():
        lines = [f"| {', '.join(f'`{n}`' for n in names)} | {sentence} |" for names, sentence in rows(folder)]
        if lines:
            text += [f"## `{os.path.relpath(folder, ROOT)}/`", "", "| file | |", "|---|---|", *lines, ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail when the page is out of date")
    args = parser.parse_args()
    text = page()
    if args.check:
        with open(PAGE, encoding="utf-8") as f:
            if f.read() != text:
                print("docs/map.md is not what scripts/map.py writes: run it")
                return 1
        return 0
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
