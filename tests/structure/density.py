# SPDX-License-Identifier: BSD-2-Clause
"""How many assertions the pure folders have, for structure.py."""
import re

# Assertions in a thousand lines of code: of all pure folders together, and of each folder of more than a few headers and tables.
ALL_MIN = 10
FOLDER_MIN = {"core": 10, "cm": 10, "ucma": 10, "fabric": 10, "mgmt": 10, "reg": 10, "wire": 10, "sim": 10, "wait": 10}
ASSERTION = re.compile(r"\b(?:VB_ASSERT|VB_ASSERT_ALL|assert)\(")


def count_in(text):
    """The lines of code in @text, which has no comments, and the assertions there."""
    text = re.sub(r"^\s*#\s*define\s+VB_ASSERT.*$", "", text, flags=re.M)
    return sum(1 for line in text.splitlines() if line.strip()), len(ASSERTION.findall(text))


def complaints(counts):
    """@counts has the lines and assertions of each folder."""
    sums = dict(counts, **{"": tuple(map(sum, zip(*counts.values())))})
    bad = []
    for folder, least in sorted({"": ALL_MIN, **FOLDER_MIN}.items()):
        lines, cnt = sums.get(folder, (0, 0))
        if cnt * 1000 < least * lines:
            bad.append(f"{'src/' + folder if folder else 'the pure folders'}: {cnt} assertions in {lines} lines of code, at least "
                       f"{least} in a thousand: what would be found late here? (base/assert.h)")
    return bad
