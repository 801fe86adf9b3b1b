#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""docs/tour.md is true: each function that it names stands in the file beside it, and one WRITE
(tests/unit/test_tour.c) passes them in the order of the page.

  tour.py [--fix] [--program BUILD/tests/unit/test_tour]

--fix writes the files into the page, as functions move. Without --program only the files are checked.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "tour.md")
ROW = re.compile(r"^\| `(\w+)\(\)` \| `([^`]+)` \|", re.M)
SKIPPED = 77
# Of two threads that come to breakpoints at once some versions of gdb run the commands of one only; what
# gdb asks a breakpoint in Python before it stops is asked for each thread.
SETTINGS = """set pagination off
set breakpoint pending off
set print thread-events off
set print inferior-events off
python
class Passed(gdb.Breakpoint):
    def stop(self):
        gdb.write(f"passed {self.location}\\n")
        return False
end
"""


def defined_in():
    """Function -> the files of src/ that define it."""
    where = {}
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for name in sorted(files):
            if name.endswith(".c"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                for m in re.finditer(r"^\w[\w \*]*?\b(\w+)\([^;{}]*\)\n\{", text, re.M):
                    where.setdefault(m.group(1), []).append(os.path.relpath(path, ROOT))
    return where


def check_files(rows, where):
    return [f"docs/tour.md: {name}() is not in {path}, but in {', '.join(where.get(name, ['no file']))}"
            for name, path in rows if path not in where.get(name, [])]


def fix_files(text, where):
    def fixed(m):
        files = where.get(m.group(1), [])
        return m.group().replace(m.group(2), files[0]) if len(files) == 1 else m.group()
    return ROW.sub(fixed, text)


def functions_passed(program, names):
    """The functions among @names that are passed between the marks of the program, in their order."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write(SETTINGS)
        for name in ("tour_begins", *names):
            script.write(f'python Passed("{name}")\n')
        script.write("break tour_ends\nrun\nkill\nquit\n")
        script.flush()
        env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
        r = subprocess.run(["gdb", "-q", "-nx", "-batch", "-x", script.name, program], env=env, timeout=240,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    passed = re.findall(r"^passed (\w+)$", r.stdout, re.M)
    if "tour_begins" not in passed:
        if "ptrace" in r.stdout + r.stderr or "exited with code 0115" in r.stdout:
            print("no debugger may run here, or no network namespace")
            sys.exit(SKIPPED)
        return None, r.stdout + r.stderr
    return passed[passed.index("tour_begins") + 1:], ""


def first_missing(names, passed):
    """The place in @names that does not follow in @passed; len(names): all do."""
    at = 0
    for name in passed:
        if at < len(names) and name == names[at]:
            at += 1
    return at


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="write the files into the page")
    parser.add_argument("--program", help="the program that makes the WRITE")
    args = parser.parse_args()
    where = defined_in()
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    if args.fix:
        text = fix_files(text, where)
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
    rows = ROW.findall(text)
    bad = check_files(rows, where) if rows else ["docs/tour.md: no function is named"]
    names = [name for name, _ in rows]
    if args.program and not bad:
        passed, output = functions_passed(args.program, list(dict.fromkeys(names)))
        if passed is None:
            bad.append(f"{args.program} did not begin:\n{output}")
        else:
            at = first_missing(names, passed)
            if at < len(names):
                bad.append(f"docs/tour.md: {names[at]}() is not passed after {names[at - 1] if at else 'the post'}(); "
                           f"passed were {' '.join(passed)}")
    for line in bad:
        print(line)
    print(f"{len(rows)} functions of the tour, {len(bad)} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
