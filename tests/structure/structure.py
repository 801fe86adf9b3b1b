#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Enforces the architecture: what docs/architecture.md says about folders, sizes and names.

Each check is a function named check_<name>(tree); its docstring says the rule, what it returns is
a list of complaints, each with the place and what to do about it.

  structure.py [--build DIR] [--cc CC] [--cxx CXX] [--sanitized] [CHECK...]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import density
import items
import links
import tree
from entry_points import check_calls, check_exports, check_forward, check_reasons
from planted import PLANTED
from sentences import check_sentences
from tree import c_files, read, walk, without_comments

# Folder of src/ -> the folders whose headers it may include. docs/architecture.md, "Folders".
MAY_INCLUDE = {
    "base": {"base"},
    "wire": {"base", "wire"},
    "trace": {"base", "trace"},
    "wait": {"base", "wait"},
    "cm": {"base", "wire", "cm"},
    "ucma": {"base", "wire", "cm", "ucma"},
    "core": {"base", "wire", "trace", "core"},
    "wqe": {"base", "wire", "trace", "core", "wqe"},
    "reg": {"base", "wire", "trace", "core", "reg"},
    "fault": {"base", "wire", "trace", "fault"},
    "mgmt": {"base", "wire", "fabric", "mgmt"},
    "explain": {"base", "wire", "trace", "cm", "ucma", "core", "fabric", "explain"},
    "fabric": {"base", "wire", "trace", "fault", "fabric"},
    "sim": {"base", "wire", "trace", "core", "fault", "fabric", "sim"},
    "plugin": {"base", "core", "plugin"},
    "scenario": {"base", "wire", "trace", "core", "fault", "fabric", "sim", "plugin", "scenario"},
    "export": {"base", "wire", "trace", "export"},
    "results": {"base", "wire", "trace", "core", "fault", "fabric", "sim", "scenario", "export", "results"},
    "library": {"base", "wire", "trace", "core", "fault", "fabric", "sim", "scenario", "export", "results", "library"},
    "traffic": {"base", "wire", "trace", "fault", "export", "traffic"},
    "link": {"base", "wire", "trace", "fault", "link"},
    "node": {"base", "wire", "trace", "wait", "cm", "ucma", "explain", "fault", "fabric", "mgmt", "core", "reg", "plugin", "link", "node"},
    "files": {"base", "ucma", "link", "node", "files"},
    "verbs": {"base", "wire", "trace", "core", "wqe", "reg", "link", "node", "verbs"},
    "rdmav": {"rdmav"},
    "calls": {"calls"},
    "cmd": {"base", "wire", "trace", "ucma", "explain", "core", "wqe", "reg", "fault", "fabric", "sim", "plugin", "scenario", "export", "results", "traffic", "link",
            "node", "verbs", "cmd"},
}
# Headers that declare and call nothing, beyond those.
MAY_INCLUDE_HEADERS = {"calls": {"verbs/later.h"}, "rdmav": {"verbs/provider/provider.h"}}
PURE = ("base", "wire", "trace", "wait", "cm", "ucma", "core", "wqe", "reg", "fault", "fabric", "mgmt", "sim")
PURE_SYSTEM_HEADERS = {
    "assert.h", "errno.h", "inttypes.h", "limits.h", "stdalign.h", "stdatomic.h", "stdbool.h", "stddef.h",
    "stdint.h", "string.h",
}
EXTRA_SYSTEM_HEADERS = {"wire": {"isa-l/crc.h", "isa-l.h", "immintrin.h"}}
PURE_SYMBOLS = {
    "memcpy", "memmove", "memset", "memcmp", "strlen", "strcmp", "strncmp", "memchr",
    "strchr", "strspn", "strcspn",
    "bcmp",  # clang makes it of a memcmp() that asks for no order
    "__assert_fail", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_",
}
# __cpu_*: what the compiler found out about the processor when the program started.
EXTRA_SYMBOLS = {"wire": {"crc32_gzip_refl", "__cpu_model", "__cpu_features2"}}
# Functions that sanitizers call, and integer arithmetic that the compiler has no instruction for.
SANITIZER_SYMBOL = re.compile(r"^__(asan|ubsan|tsan|sanitizer|lsan|odr_asan|sancov)")
ARITHMETIC_SYMBOL = re.compile(r"^__(popcount|clz|ctz|u?div|u?mod|mul|ashl|lshr|ashr)[sdt]i[0-9]$")

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
FOLDER_FILES_MAX = 15
BANNED_WORDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
# Calls that have a better replacement: pattern, where (folders of src/, None: all), what to do.
BANNED_CALLS = (
    (r"\b(strcpy|strcat|sprintf|vsprintf|gets)\s*\(", None, "use snprintf or memcpy"),
    (r"\b(rand|srand|random|drand48)\s*\(", None, "use base/rng.h"),
    (r"\b(alloca)\s*\(", None, "use storage given at creation"),
    (r"(?<![\w.>])(printf|fprintf|puts|malloc|calloc|realloc|free|time|clock_gettime)\s*\(", PURE,
     "a pure folder calls nobody"),
    (r"\b(float|double)\b", PURE, "behaviour is computed in integers"),
)


def check_includes(_):
    """A folder includes only what stands above it; a pure one only headers that do nothing."""
    bad = []
    for path in c_files("src"):
        folder = path.split(os.sep)[1]
        if folder not in MAY_INCLUDE:
            bad.append(f"{path}: src/{folder}/ is not in the table of folders")
            continue
        for n, line in enumerate(read(path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not m:
                continue
            quoted, name = m.group(1) == '"', m.group(2)
            if quoted:
                if name.startswith("verbena/"):
                    continue
                top = name.split("/")[0] if "/" in name else folder
                if top not in MAY_INCLUDE[folder] and name not in MAY_INCLUDE_HEADERS.get(folder, ()):
                    bad.append(f"{path}:{n}: src/{folder} may not include {name}")
            elif folder in PURE:
                if name not in PURE_SYSTEM_HEADERS | EXTRA_SYSTEM_HEADERS.get(folder, set()):
                    bad.append(f"{path}:{n}: a pure folder may not include <{name}>")
    return bad


def pure_archives(args):
    if not args.build:
        sys.exit("structure.py: this check looks at archives: give a build folder with --build")
    for folder in PURE:
        path = os.path.join(args.build, "src", folder, f"libvb_{folder}.a")
        if os.path.exists(path):
            yield folder, path


def check_symbols(args):
    """The pure archives call nothing outside the list, and each other only upwards."""
    defined, bad, seen = set(PURE_SYMBOLS), [], 0
    for folder, path in pure_archives(args):
        seen += 1
        out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in out.splitlines()]
        defined |= {r[2] for r in rows if len(r) == 3 and r[1] in "TDRBVW"}
        allowed = defined | EXTRA_SYMBOLS.get(folder, set())
        for row in rows:
            if len(row) == 2 and row[0] == "U" and row[1] not in allowed:
                if not SANITIZER_SYMBOL.match(row[1]) and not ARITHMETIC_SYMBOL.match(row[1]):
                    bad.append(f"libvb_{folder}.a calls {row[1]}")
    if not seen:
        bad.append(f"{args.build}: no pure archive was found; build first")
    return sorted(set(bad))


def object_symbols(objects):
    """Yields (object file, kind, symbol) of @objects, by one nm: it takes a quarter of a second to start."""
    out = subprocess.run(["nm", "-A", "-P", *objects], capture_output=True, text=True, check=True).stdout
    for path, row in (line.split(": ", 1) for line in out.splitlines()):
        symbol, kind = row.split()[:2]
        yield path, kind, symbol


# Files of src/fabric -> the other ones that their functions may call: what a machine is made of.
MACHINES = {
    "frame": set(), "buffer": set(), "cable": {"frame"}, "port": set(), "eth/pfc": {"frame", "buffer", "port"},
    "eth/multipath": set(), "switch": {"frame", "buffer", "port", "eth/pfc", "eth/multipath"},
    "ib/arbiter": set(), "ib/credit": set(), "ib/lane": set(), "ib/link_state": set(),
    "ib/port": {"ib/arbiter", "ib/credit", "ib/lane", "ib/link_state"},
    "ib/node/end": {"frame", "port", "ib/port"}, "ib/node/deadlock": set(),
    "ib/node/congestion": set(),
    "ib/node/switch": {"frame", "ib/credit", "ib/forward", "ib/lane", "ib/node/congestion", "ib/node/end"},
    "ib/node/hca": {"frame", "port", "ib/lane", "ib/node/congestion", "ib/node/end"},
    # The holder of the machines of a live fabric.
    "ib/node/net": {"frame", "cable", "port", "ib/port", "ib/node/end", "ib/node/hca", "ib/node/switch"},
    "tunnel/tunnel": set(), "tunnel/table": set(), "tunnel/packet": {"frame"},
    # No machines, but text and shapes of which a fabric is made.
    "topology/build": {"topology/say"}, "topology/guid": {"topology/build", "topology/sort"},
    "topology/find": {"topology/lex"},
    "topology/join": {"topology/build", "topology/find", "topology/sort"},
    "topology/finish": {"topology/build", "topology/guid", "topology/join", "topology/sort"},
    "topology/shape": {"topology/build", "topology/finish", "topology/lex", "topology/say"},
    "topology/text/facts": {"topology/build", "topology/lex"},
    "topology/text/node": {"topology/build", "topology/lex", "topology/text/facts"},
    "topology/text/port": {"topology/build", "topology/lex", "topology/text/facts", "topology/text/node"},
    "topology/text/io": {"topology/build", "topology/lex"},
    "topology/text/read": {"topology/build", "topology/finish", "topology/lex", "topology/text/io",
                           "topology/text/node", "topology/text/port"},
    "topology/text/write": {"topology/say"},
}


def check_machines(args):
    """A machine of src/fabric stands alone: it calls only what it is made of."""
    top = os.path.join(args.build or "", "src", "fabric", "CMakeFiles", "vb_fabric.dir")
    objects = [os.path.join(folder, name) for folder, _, files in os.walk(top) for name in files
               if name.endswith(".c.o")]
    rows = [(os.path.relpath(path, top)[:-4], kind, symbol)
            for path, kind, symbol in (object_symbols(objects) if objects else [])]
    home = {symbol: name for name, kind, symbol in rows if kind in "TDRBVW"}
    bad = {f"src/fabric/{name}.c calls {symbol} of {home[symbol]}.c" for name, kind, symbol in rows
           if kind == "U" and home.get(symbol, name) not in MACHINES.get(name, set()) | {name}}
    return sorted(bad) + [f"{top}: there is no object of {name}.c: build it" for name in sorted(MACHINES)
                          if name not in {row[0] for row in rows}]


def check_globals(args):
    """The pure archives have no writable data."""
    bad = []
    if args.sanitized:
        return bad # sanitizers add tables of their own
    for folder, path in pure_archives(args):
        out = subprocess.run(["objdump", "-t", path], capture_output=True, text=True, check=True)
        for line in out.stdout.splitlines():
            m = re.match(r"[0-9a-f]{16} .{7} (\S+)\s+([0-9a-f]+) (?:\.hidden )?(\S+)$", line)
            if m and re.match(r"(\.data|\.bss|\.tbss|\.tdata|\*COM\*)", m.group(1)):
                if not m.group(1).startswith(".data.rel.ro") and int(m.group(2), 16):
                    bad.append(f"libvb_{folder}.a: {m.group(3)} is mutable: pass it in, or const")
    return bad


def check_sizes(_):
    """No file is over 600 lines and no function over 70."""
    bad = []
    for path in c_files():
        lines = read(path).splitlines()
        if len(lines) > FILE_LINES_MAX:
            bad.append(f"{path}: {len(lines)} lines, at most {FILE_LINES_MAX}: which two nouns live in it?")
        start = None
        for n, line in enumerate(lines, 1):
            if line == "{":
                start = n
            elif line == "}" and start:
                if n - start - 1 > FUNCTION_LINES_MAX:
                    bad.append(f"{path}:{start}: a function of {n - start - 1} lines, at most "
                               f"{FUNCTION_LINES_MAX}")
                start = None
    return bad


def check_folders(_):
    """No folder of src/ holds more than 15 source files."""
    bad, files = [], {}
    for path in walk("src"):
        if path.endswith((".c", ".h", ".def")):
            files.setdefault(os.path.dirname(path), []).append(path)
    for folder, paths in files.items():
        if len(paths) > FOLDER_FILES_MAX:
            bad.append(f"{folder}: {len(paths)} files, at most {FOLDER_FILES_MAX}: a prefix of many of them is a folder that is missing")
    return bad


STATIC_FUNCTION = re.compile(r"^static\s[^;={}()]*?\b(\w+)\([^;{}]*\)\n?\s*\{", re.M)


def check_names(_):
    """A static function's name says what it acts on: it has two words at least."""
    bad = []
    for path in c_files("src"):
        text = without_comments(read(path))
        for m in STATIC_FUNCTION.finditer(text):
            if "_" not in m.group(1):
                line = text.count("\n", 0, m.start(1)) + 1
                bad.append(f"{path}:{line}: {m.group(1)}() does not say what it acts on: add the noun")
    return bad


def object_folders(build):
    """Folder below src/ -> the object files of its sources, in the build folder @build."""
    folders = {}
    top = os.path.join(build, "src")
    for path, _, files in os.walk(top):
        place, mark, inside = os.path.relpath(path, top).partition("/CMakeFiles/")
        if mark:
            folder = os.path.join(place, *inside.split("/")[1:])
            folders.setdefault(folder, []).extend(
                os.path.join(path, f) for f in files
                if f.endswith(".c.o") and os.path.exists(os.path.join(tree.root, "src", folder, f.removesuffix(".o"))))
    return {folder: sorted(files) for folder, files in sorted(folders.items()) if files}


def calls_between(objects):
    """Object file -> those of @objects whose symbols it needs."""
    defined, needed = {}, {path: set() for path in objects}
    for path, kind, symbol in object_symbols(objects):
        if kind in "TDRBVW":
            defined[symbol] = path
        elif kind == "U":
            needed[path].add(symbol)
    return {path: {defined[s] for s in symbols if s in defined} - {path} for path, symbols in needed.items()}


def reached_from(path, calls):
    """All that @path calls, also by way of others."""
    seen, left = set(), [path]
    while left:
        for other in calls[left.pop()] - seen:
            seen.add(other)
            left.append(other)
    return seen


def check_circles(args):
    """The object files of a folder do not call each other in a circle."""
    if not args.build:
        sys.exit("structure.py: this check looks at object files: give a build folder with --build")
    bad, folders = [], object_folders(args.build)
    all_calls = calls_between([path for objects in folders.values() for path in objects]) if folders else {}
    for folder, objects in folders.items():
        calls = {path: all_calls[path] & set(objects) for path in objects}
        circle = sorted(os.path.basename(path).removesuffix(".o")
                        for path in objects if path in reached_from(path, calls))
        if circle:
            bad.append(f"src/{folder}: {', '.join(circle)} call each other in a circle")
    if not folders:
        bad.append(f"{args.build}: no object file was found; build first")
    return bad


def check_layers(args):
    """The folders of src/core do not call each other in a circle: each has its layer."""
    folders = {f: o for f, o in object_folders(args.build).items() if f.split(os.sep)[0] == "core"}
    home = {path: folder for folder, objects in folders.items() for path in objects}
    calls = {folder: set() for folder in folders}
    for path, others in calls_between(list(home)).items():
        calls[home[path]] |= {home[other] for other in others} - {home[path]}
    bad = [] if folders else [f"{args.build}: no object file of the core was found; build first"]
    return bad + [f"src/{folder}: it is reached again from what it calls: {', '.join(sorted(calls[folder]))}"
                  for folder in sorted(folders) if folder in reached_from(folder, calls)]


def check_assertions(_):
    """The pure folders assert what would otherwise be found late: so often in a thousand lines."""
    counts = {}
    for path in c_files(*(f"src/{folder}" for folder in PURE)):
        folder = path.split(os.sep)[1]
        found = density.count_in(without_comments(read(path)))
        counts[folder] = tuple(map(sum, zip(counts.get(folder, (0, 0)), found)))
    return density.complaints(counts)


def check_words(_):
    """No unfinished work is left in the text, no call that has a better replacement."""
    bad = []
    own = os.path.relpath(os.path.abspath(__file__), tree.root)
    text_files = list(walk("src", "include", "tests", "bench", "scripts", "docs", "man", "python"))
    text_files += [p for p in os.listdir(tree.root) if p.endswith((".md", ".txt", ".json"))]
    for path in text_files:
        if path == own or not path.endswith((".c", ".h", ".def", ".py", ".md", ".txt", ".sh", ".drill",
                                             ".1", ".7")) and "." in os.path.basename(path):
            continue
        for n, line in enumerate(read(path).splitlines(), 1):
            if BANNED_WORDS.search(line):
                bad.append(f"{path}:{n}: finish it, or take it out")
    for path in c_files("src", "include"):
        folder = path.split(os.sep)[1]
        lines = without_comments(read(path)).splitlines()
        for pattern, folders, instead in BANNED_CALLS:
            if folders is not None and folder not in folders:
                continue
            for n, line in enumerate(lines, 1):
                m = re.search(pattern, line)
                if m:
                    bad.append(f"{path}:{n}: {m.group().strip()}: {instead}")
    for path in c_files("tests"):
        for n, line in enumerate(read(path).splitlines(), 1):
            if re.search(r"\bassert_in_range\(", line) and not path.endswith("cmocka_env.h"):
                bad.append(f"{path}:{n}: cmocka 2 deprecates it: assert_uint_in_range()")
    return bad


def check_spdx(_):
    """Every source file says its licence in the first lines and what it is for right after."""
    bad = []
    for path in c_files():
        text = read(path)
        if not text.startswith("/* SPDX-License-Identifier: BSD-2-Clause */\n"):
            bad.append(f"{path}: the first line is not the SPDX line")
        elif not text.split("\n")[1].startswith("/*"):
            bad.append(f"{path}: the second line does not open the paragraph that says what it is for")
    for path in walk("scripts", "tests", "python"):
        if path.endswith((".py", ".sh")) or "." not in os.path.basename(path):
            head = read(path)[:200]
            if head.startswith("#!") and "SPDX-License-Identifier: BSD-2-Clause" not in head:
                bad.append(f"{path}: no SPDX line in the head")
    return bad


def check_headers(args):
    """Every header compiles alone as C17; the public ones also as C++17."""
    def compile_alone(job):
        path, command = job
        with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
            f.write(f'#include "{os.path.join(tree.root, path)}"\n')
            f.flush()
            r = subprocess.run(command + ["-fsyntax-only", "-D_GNU_SOURCE", "-DTEST_DATA=\"\"",
                                          "-I", os.path.join(tree.root, "src"),
                                          "-I", os.path.join(tree.root, "include"), f.name],
                               capture_output=True, text=True)
        return [] if r.returncode == 0 else [f"{path}: {' '.join(command)}\n{r.stderr}"]
    c17 = [args.cc, "-x", "c", "-std=c17", "-Wall", "-Wextra", "-Werror"]
    cxx = [args.cxx, "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    jobs = [(p, c17) for p in c_files("src", "include") if p.endswith(".h")]
    jobs += [(p, cxx) for p in c_files("include") if p.endswith(".h")]
    with ThreadPoolExecutor(2) as pool:
        return [line for lines in pool.map(compile_alone, jobs) for line in lines]


def check_citations(_):
    """Every item id that source, tests and documents cite stands in docs/conformance-items.tsv."""
    items = {line.split("\t")[0] for line in read("docs/conformance-items.tsv").splitlines()}
    bad = []
    for path in walk("src", "include", "tests", "docs"):
        if not path.endswith((".c", ".h", ".def", ".drill", ".md", ".py")):
            continue
        for n, line in enumerate(read(path).splitlines(), 1):
            for item in re.findall(r"\b(?:ADP|REG|IBT|CC|CMP|MAD)-\d\d+\b", line):
                if item not in items:
                    bad.append(f"{path}:{n}: {item} is not in docs/conformance-items.tsv")
    return bad


def check_links(_):
    """Each target of a link from one document of the project to another exists."""
    bad = []
    for path in [p for p in os.listdir(tree.root) if p.endswith(".md")] + list(walk("docs", "tests")):
        if not path.endswith(".md"):
            continue
        for n, line in enumerate(read(path).splitlines(), 1):
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
                if not os.path.exists(os.path.join(tree.root, os.path.dirname(path), link)):
                    bad.append(f"{path}:{n}: there is no {link}")
    return bad


def check_paths(_):
    """Files and tests that documents name exist: `src/...`, `tests/...`, `scripts/...`, `unit.test_...`."""
    bad = []
    for path in [p for p in os.listdir(tree.root) if p.endswith(".md") and p != "CHANGELOG.md"] + list(walk("docs", "tests")):
        if not path.endswith(".md"):
            continue
        for n, line in enumerate(read(path).splitlines(), 1):
            for name in re.findall(r"`((?:src|tests|scripts|bench|include|man)/[\w./-]*)`", line):
                if not any(os.path.exists(os.path.join(tree.root, name + end)) for end in ("", ".c")):
                    bad.append(f"{path}:{n}: there is no {name}")
            for name in re.findall(r"`unit\.(test_\w+)`", line):
                if not os.path.exists(os.path.join(tree.root, "tests", "unit", name + ".c")):
                    bad.append(f"{path}:{n}: there is no tests/unit/{name}.c")
    return bad


def check_versions(_):
    """The version of the public header is that of the changelogs and the package."""
    version = ".".join(re.findall(r"^#define VERBENA_VERSION_\w+ (\d+)$", read("include/verbena/verbena.h"), re.M))
    first = {"CHANGELOG.md": r"^## ([\d.]+)", "debian/changelog": r"^verbena \(([\d.]+)-"}
    return [f"{path}: not {version} first" for path, pattern in first.items()
            if re.search(pattern, read(path), re.M)[1] != version]


def check_refusals(_):
    """Each reason of src/core/refusal.def is one that the core gives."""
    rules = re.findall(r"^REFUSAL\((\w+)", read("src/core/refusal.def"), re.M)
    given = "".join(read(path) for path in c_files("src/core"))
    return [f"{rule}: nobody refuses with it" for rule in rules if not re.search(rf"\bVB_REFUSAL_{rule}\b", given)]


def check_work_requests(_):
    """The table of work requests in docs/core.md is that of src/core/wr_opcode.def."""
    r = subprocess.run([sys.executable, os.path.join(tree.root, "scripts", "work_requests.py"), "--check"],
                       capture_output=True, text=True)
    return [] if r.returncode == 0 else [r.stderr.strip()]


def check_conformance(_):
    """docs/conformance.md is what scripts/conformance.py makes of the items and the tests."""
    r = subprocess.run([sys.executable, os.path.join(tree.root, "scripts", "conformance.py"), "--check"],
                       capture_output=True, text=True)
    return [] if r.returncode == 0 else [(r.stdout + r.stderr).strip()]


def check_map(_):
    """docs/map.md is what scripts/map.py makes of the first comment of each file."""
    r = subprocess.run([sys.executable, os.path.join(tree.root, "scripts", "map.py"), "--check"], capture_output=True, text=True)
    return [] if r.returncode == 0 else [(r.stdout + r.stderr).strip()]


def check_items(_):
    """scripts/conformance.py tells what is shown from what a test only names."""
    return items.faults_of(os.path.join(tree.root, "scripts", "conformance.py"))


ENGINE = ("src/node/engine", "src/node/wait", "src/node/control")


def check_drivers(_):
    """The engine names no driver: it knows link/link.h and the table of link/driver.h."""
    top = os.path.join(tree.root, "src", "link")
    names = sorted(name for name in os.listdir(top) if name != "middle" and os.path.isdir(os.path.join(top, name)))
    return links.named_drivers(names, {path: read(path) for path in c_files(*ENGINE)})


def check_operations(_):
    """Operations that a link need not have are not called by the table: link/link.h has a function for it."""
    files = {path: without_comments(read(path)) for path in c_files("src/link", "src/node", "src/verbs", "src/cmd")}
    return links.called_operations(read("src/link/link.h"), files)


def build_planted(args, root, folder):
    """Compiles the sources of src/@folder/ in @root as CMake does: their objects, and the archive of them."""
    sources = os.path.join(root, "src", folder)
    objects = os.path.join(root, f"build/src/{folder}/CMakeFiles/vb_{folder}.dir")
    os.makedirs(objects)
    for name in sorted(os.listdir(sources)):
        subprocess.run([args.cc, "-c", os.path.join(sources, name), "-o", os.path.join(objects, name + ".o")],
                       check=True)
    subprocess.run(["ar", "qc", os.path.join(root, f"build/src/{folder}/libvb_{folder}.a")] +
                   [os.path.join(objects, name) for name in os.listdir(objects)], check=True)


def check_rules(args):
    """Each rule finds what breaks it."""
    bad, own = [], tree.root
    for check, files, complaint in PLANTED:
        with tempfile.TemporaryDirectory() as tree.root:
            for path, text in files.items():
                os.makedirs(os.path.join(tree.root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(tree.root, path), "w", encoding="utf-8") as f:
                    f.write(text)
            planted = argparse.Namespace(cc=args.cc, cxx=args.cxx, sanitized=False, build=os.path.join(tree.root, "build"))
            if check in ("circles", "symbols", "globals", "machines"):
                build_planted(args, tree.root, next(iter(files)).split("/")[1])
            said = CHECKS[check](planted)
            if not any(complaint in line for line in said):
                bad.append(f"{check}: not found: {complaint}; it says {said}")
    tree.root = own
    return bad


CHECKS = {name[6:]: f for name, f in sorted(globals().items()) if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", help="a build folder with the pure archives")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--sanitized", action="store_true", help="the archives have sanitizers in")
    parser.add_argument("check", nargs="*", help="all of them unless named: " + " ".join(CHECKS))
    args = parser.parse_args()
    failed = 0
    names = args.check or list(CHECKS)
    for name in names:
        if name not in CHECKS:
            parser.error(f"there is no check '{name}'")
        bad = CHECKS[name](args)
        failed += bool(bad)
        print(f"{'FAIL' if bad else 'ok  '} {name}: {CHECKS[name].__doc__}")
        for line in bad:
            print("    " + line.replace("\n", "\n    "))
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
