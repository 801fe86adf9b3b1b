# SPDX-License-Identifier: BSD-2-Clause
"""The sentences of comments, for structure.py: each has a subject with a noun."""
import re

from tree import c_files, read, walk

COMMENT = re.compile(r"/\*.*?\*/", re.S)
NOUNLESS = re.compile(r"(?:^|[.;:] )((?:What|Who|Whoever|Whatever|Whose) [^.?]*)([.?]?)")
SCRIPT_COMMENT = re.compile(r'^\s*(?:# ?|""")((?:What|Who|Whoever|Whatever|Whose) [^.?]*)([.?]?)')
SCRIPTS = (".py", ".sh", ".cmake", ".drill", ".txt")


def complaint(path, line, sentence):
    return f"{path}:{line}: \"{' '.join(sentence.split()[:6])}\": which noun is it about?"


def check_sentences(_):
    """No sentence of a comment begins with "What" or "Who" without a noun; questions may."""
    bad = []
    for path in c_files():
        text = read(path)
        for comment in COMMENT.finditer(text):
            said = re.sub(r"\s+\*?\s*", " ", comment.group()[2:-2]).strip(" *")
            for m in NOUNLESS.finditer(said):
                if m.group(2) != "?":
                    bad.append(complaint(path, text.count("\n", 0, comment.start()) + 1, m.group(1)))
    for path in walk("src", "tests", "bench", "scripts", "cmake", "python"):
        if path.startswith("scripts/") or path.endswith(SCRIPTS):
            for n, line in enumerate(read(path).splitlines(), 1):
                m = SCRIPT_COMMENT.match(line)
                if m and m.group(2) != "?":
                    bad.append(complaint(path, n, m.group(1)))
    return bad
