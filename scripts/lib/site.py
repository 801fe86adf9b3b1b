# SPDX-License-Identifier: BSD-2-Clause
"""Gathers the documents for mkdocs and calls it: README.md is the first page, those of docs/ stand beside it.

Links that leave the documents, to a file of the source, become its name. A link without a target, a page that
the navigation lacks, or one that is not there ends it. docs/site/mkdocs.yml has the navigation.
"""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE, HTML = os.path.join(ROOT, "build", "site", "source"), os.path.join(ROOT, "build", "site", "html")
CONFIG = os.path.join(ROOT, "docs", "site", "mkdocs.yml")
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def page_of(path):
    """Where a file of the project is in the site, or None where it is no page or picture."""
    if path == "README.md":
        return "index.md"
    if path in TOP:
        return path
    if path.startswith("docs/") and path.endswith((".md", ".svg", ".png")):
        return path[len("docs/"):]
    return None


def links_moved(text, path):
    """The text of the document @path with links as they are in the site."""
    here = os.path.dirname(page_of(path))

    def moved(match):
        name, target, anchor = match.groups()
        if re.match(r"[a-z]+:", target):
            return match[0]
        to = page_of(os.path.normpath(os.path.join(os.path.dirname(path), target)))
        return f"[{name}]({os.path.relpath(to, here or '.')}{anchor or ''})" if to else name

    return re.sub(r"\[([^][]*)\]\(([^)#\s]+)(#[^)]*)?\)", moved, text)


def for_mkdocs(text):
    """Where GitHub sees a list or a table, mkdocs wants an empty line before; comments would end one."""
    lines, fenced = [], False
    for line in re.sub(r"^<!--.*?-->\n", "\n", text, flags=re.M).split("\n"):
        fenced ^= line.startswith("```")
        begins = re.match(r"[-*] |\d+\. |\|", line)
        if begins and not fenced and lines and lines[-1].strip() and not re.match(r"[-*] |\d+\. |\|| ", lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def gather():
    """Writes the pages; returns their names."""
    shutil.rmtree(os.path.dirname(SOURCE), ignore_errors=True)
    pages = []
    found = [os.path.relpath(os.path.join(d, f), ROOT)
             for d, _, names in os.walk(os.path.join(ROOT, "docs")) for f in names]
    for path in [*TOP, *sorted(found)]:
        to = page_of(path)
        if not to:
            continue
        os.makedirs(os.path.dirname(os.path.join(SOURCE, to)), exist_ok=True)
        if not path.endswith(".md"):
            shutil.copy(os.path.join(ROOT, path), os.path.join(SOURCE, to))
            continue
        pages.append(to)
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = for_mkdocs(links_moved(f.read(), path))
        with open(os.path.join(SOURCE, to), "w", encoding="utf-8") as f:
            f.write(text)
    shutil.copy(os.path.join(ROOT, "docs", "site", "site.css"), SOURCE)
    return pages


def complete_theme():
    """Debian 12's theme names two scripts that its package lacks: jQuery, which is a package of its own, and a
    decoration. Anything else that pages want and do not have is a fault."""
    with open(os.path.join(HTML, "index.html"), encoding="utf-8") as f:
        html = re.sub(r"<!--.*?-->", "", f.read(), flags=re.S)
    wanted = re.findall(r'<(?:script|link)[^>]* (?:src|href)="([^":]+\.(?:js|css))"', html)
    missing = []
    for name in wanted:
        path = os.path.join(HTML, name)
        if os.path.exists(path):
            continue
        if re.fullmatch(r"js/jquery-[\d.]+\.min\.js", name):
            shutil.copy("/usr/share/javascript/jquery/jquery.min.js", path)
        elif name == "js/theme_extra.js":
            open(path, "w", encoding="utf-8").close()
        else:
            missing.append(f"the theme lacks {name}")
    return missing


def main():
    pages = gather()
    with open(CONFIG, encoding="utf-8") as f:
        named = re.findall(r"^ .*: ([\w/.-]+\.md)$", f.read(), re.M)
    wrong = [f"docs/site/mkdocs.yml: the navigation lacks {p}" for p in pages if p not in named]
    wrong += [f"docs/site/mkdocs.yml: there is no {p}" for p in named if p not in pages]
    if wrong:
        sys.exit("\n".join(wrong))
    # mkdocs puts the day into the site; that of the release makes it the same from the same source.
    environment = {"SOURCE_DATE_EPOCH": "0", **os.environ}
    p = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--config-file", CONFIG], env=environment,
                       capture_output=True, text=True, check=False)
    if p.returncode != 0:
        sys.exit(p.stdout + p.stderr)
    missing = complete_theme()
    if missing:
        sys.exit("\n".join(missing))


main()
