# SPDX-License-Identifier: BSD-2-Clause
"""Documents for readers, followed literally: commands do what is promised, and the site is whole.

A block of ```sh that follows a line <!-- tested --> runs here. README.md's run at the top of the source, each in one
shell; those of a page in docs/ all in one folder, each in a shell of its own, which finds verbena and its scenarios as
after a build without root. A block that follows <!-- prints --> has lines that the commands before it must have
printed, in that order; "..." stands for anything.
"""
import functools
import http.server
import os
import re
import shlex
import shutil
import subprocess
import threading
import urllib.parse

import browser
from cases import add, case
from hosts import Failure, Skip

TESTED = re.compile(r"<!-- (tested|prints) -->\n+```(?:sh)?\n(.*?)\n```", re.S)
PAGES = {"quick_start": ("quick-start.md", ()), "ci": ("examples/ci-of-a-library.md", ("rping", "make")),
         "failed_qp": ("examples/why-did-my-qp-fail.md", ("cc",)),
         "subnet": ("examples/first-subnet.md", ("opensm", "ibqueryerrors", "ib_send_bw")),
         "own_congestion_control": ("examples/own-congestion-control.md", ("cc",)),
         "own_study": ("examples/own-study.md", ("cc",)),
         "congestion": ("examples/first-congestion-experiment.md", ())}


def blocks(path):
    """The blocks of a document: ("tested", text) and ("prints", text)."""
    with open(path, encoding="utf-8") as f:
        found = TESTED.findall(f.read())
    if not found:
        raise Failure(f"{path} has no tested block")
    return found


def has_printed(out, wanted):
    """Whether the lines of @wanted are in @out, in their order; blanks count as one, "..." as anything."""
    lines = iter(" ".join(line.split()) for line in out.splitlines())
    for want in wanted.splitlines():
        pattern = ".*".join(re.escape(part) for part in " ".join(want.split()).split("..."))
        pattern = pattern.replace(r"\ .*", r"\ ?.*").replace(r".*\ ", r".*\ ?")
        if not any(re.fullmatch(pattern, line) for line in lines):
            return False
    return True


@case("documents.readme", seconds=60)
def _(context):
    for kind, text in blocks(os.path.join(context.source, "README.md")):
        script = text.replace("cmake --preset user && cmake --build --preset user\n", "")
        script = script.replace("build/user/", shlex.quote(os.path.relpath(context.build, context.source)) + "/")
        if kind == "tested":
            context.machine.a.run(["bash", "-euo", "pipefail", "-c", script], seconds=50, cwd=context.source)


def follow(page, programs):
    """Runs the blocks of a page in one folder, on a host with loopback and nothing else."""
    def run(context):
        for program in programs:
            if not shutil.which(program):
                raise Skip(f"{program} is not installed")
        folder = os.path.join(context.machine.folder, "page." + os.path.basename(page))
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        found = blocks(os.path.join(context.source, "docs", page))
        script = "set -e\nexec 2>&1\nip link set lo up\n"
        for kind, text in found:
            if kind == "tested":
                script += f"echo @@@@\nbash -euo pipefail -c {shlex.quote(text)}\n"
        out = context.machine.a.run(["env", f"PATH={context.build}:{os.environ['PATH']}",
                                     f"scenarios={context.source}/scenarios", f"include={context.source}/include",
                                     f"PYTHONPATH={context.source}/python",
                                     f"VERBENA_SIM_LIBRARY={context.build}/libverbena-sim.so", "unshare", "-n", "bash", "-c",
                                     script], seconds=100, cwd=folder).split("@@@@\n")
        at = 0
        for kind, text in found:
            if kind == "tested":
                at += 1
            elif not has_printed(out[at], text):
                raise Failure(f"docs/{page} promises\n{text}\nand it was\n{out[at]}")
        shutil.rmtree(folder)
    return run


for name, (page, programs) in PAGES.items():
    add(f"documents.{name}", follow(page, programs), seconds=120)


@case("documents.prints")
def _(_context):
    """The comparison above finds what is not there, or in another order."""
    out = "seed   1\ngoodput 92.4 Gb/s (6 bytes), Jain 1.0\ndigest  0a\n"
    if not has_printed(out, "seed 1\ngoodput ... Gb/s ..., Jain 1.0\ndigest ..."):
        raise Failure("not found")
    for wrong in ("seed 2", "digest ...\nseed 1", "goodput ... Gb/s", "seed"):
        if has_printed(out, wrong):
            raise Failure(f"found: {wrong}")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def links_of(html):
    return re.findall(r'(?:href|src)="([^"]*)"', re.sub(r"<!--.*?-->", "", html, flags=re.S))


def dead_links(root):
    """Links of the site that lead nowhere, and files that pages would fetch from elsewhere."""
    pages = {}
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".html") and name != "404.html":
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    pages[os.path.relpath(os.path.join(folder, name), root)] = f.read()
    bad = []
    for page, html in pages.items():
        if re.search(r'<(script|img|iframe)[^>]* src="(https?:)?//|<link[^>]* href="(https?:)?//', html):
            bad.append(f"{page} fetches something from the network")
        for link in set(links_of(html)):
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            to = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(url.path))) if url.path else page
            to = os.path.join(to, "index.html") if os.path.isdir(os.path.join(root, to)) else to
            if not os.path.exists(os.path.join(root, to)):
                bad.append(f"{page}: {link} is not there")
            elif url.fragment and to in pages and f'id="{urllib.parse.unquote(url.fragment)}"' not in pages[to]:
                bad.append(f"{page}: {link} has no such heading")
    return bad


def look(context, root):
    """In a browser, from a file server: no error, the page does not scroll sideways, the search finds a page."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=root))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        for width in (1280, 400):
            with browser.Browser(width, 900) as b:
                for page in ("index.html", "explain.html", "conformance.html", "examples/ci-of-a-library.html"):
                    b.command("url", {"url": base + page})
                    if b.errors():
                        raise Failure(f"{page}: {b.errors()}")
                    if b.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                        raise Failure(f"{page} is wider than {width} pixels")
                    if not b.run("return document.querySelector('h1').innerText"):
                        raise Failure(f"{page} has no heading")
        with browser.Browser() as b:
            b.command("url", {"url": base + "search.html?q=IBV_WC_RETRY_EXC_ERR"})
            links = "return [...document.querySelectorAll('#mkdocs-search-results a')].map(a => a.href).join(' ')"
            context.wait(lambda: b.run(links), 60, "the search finds nothing")
            if "faq.html" not in b.run(links):
                raise Failure(f"the search finds {b.run(links)}")
    finally:
        server.shutdown()


@case("documents.site", seconds=240)
def _(context):
    """scripts/site: each link leads somewhere, nothing comes from the network, and a browser is content."""
    if not shutil.which("mkdocs"):
        raise Skip("mkdocs is not installed")
    p = subprocess.run([os.path.join(context.source, "scripts", "site")], capture_output=True, text=True, timeout=200)
    if p.returncode != 0:
        raise Failure(p.stdout + p.stderr)
    root = os.path.join(context.source, "build", "site", "html")
    bad = dead_links(root)
    if bad:
        raise Failure("\n".join(bad))
    if browser.is_there():
        look(context, root)
