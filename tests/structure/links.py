# SPDX-License-Identifier: BSD-2-Clause
"""The rules for links and their drivers, for structure.py: files are texts by their paths."""
import os
import re


def line_of(text, at):
    """The number of the line of @text that has the character @at."""
    return text.count("\n", 0, at) + 1


def named_drivers(drivers, files):
    """Places, comments left out, that name one of @drivers."""
    names = "|".join(drivers)
    pattern = re.compile(rf'\b(?:vb|VB)_(?:{names}|{names.upper()})_|\blink/(?:{names})/|\be->(?:{names})\b|"(?:{names})"')
    bad = []
    for path, text in files.items():
        text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
        bad += [f"{path}:{line_of(text, m.start())}: {m[0]}: the engine names no driver: add an operation to link/link.h"
                for m in pattern.finditer(text)]
    return bad


def called_operations(header, files):
    """Places that call an operation of the table in @header that may be absent."""
    table = re.search(r"struct vb_link_ops \{(.*?)\n\};", header, re.S)[1]
    optional = set(re.findall(r"\(\*(\w+)\)\(", table)) - {"send", "recv", "close"}
    pattern = re.compile(rf"\b(?:\w*link|lower|l)->ops->({'|'.join(sorted(optional))})\(")
    return [f"{path}:{line_of(text, m.start())}: {m[1]}() may be absent: call vb_link_{m[1]}()"
            for path, text in files.items() if path != os.path.join("src", "link", "link.h") for m in pattern.finditer(text)]
