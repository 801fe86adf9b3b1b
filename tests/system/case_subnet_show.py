# SPDX-License-Identifier: BSD-2-Clause
"""`verbena fabric show`: fabrics as text, as JSON and as drawings, and the ways of packets."""
import json
import os
import re
import xml.etree.ElementTree

import browser
from case_subnet import Fabric, need
from case_subnet_router import TWO, write
from case_subnet_verbs import both, start
from cases import case


def shown(fabric, *arguments, status=0):
    return fabric.host.run([fabric.context.verbena, "fabric", "--name", fabric.name, "show", *arguments], status=status,
                           seconds=60)


def listed(fabric, *arguments):
    return json.loads(shown(fabric, "--json", *arguments))


def ports_of(data):
    """All ports with a cable: (node, port) to what is said of it."""
    return {(n["name"], p["port"]): p for n in data["nodes"] for p in n["ports"] if "state" in p}


def traced(text):
    """The links that ibtracert prints: each (output port, input port, name of the node behind it)."""
    return [(int(out), int(into), name) for out, into, name in
            re.findall(r'^\[(\d+)\] -> \w+ port \{0x\w+\}\[(\d+)\] lid \S+ "([^"]+)"', text, re.M)]


@case("subnet.show.list", seconds=120)
def states_rates_errors(context):
    """A fat tree under OpenSM: tiers, states, LIDs, rates, peers, errors, as text and as JSON, whole and in part."""
    f = Fabric(context, "shlist", "fat-tree:k=4", "--sm")
    try:
        text = shown(f)
        need(re.findall(r"^Tier (\d): (\d) switches$", text, re.M) == [("3", "4"), ("2", "8"), ("1", "8")], text)
        need("\nHosts: 16\n" in text and text.endswith("\n36 nodes, 96 ports with a cable: 96 ACTIVE\n"), text)
        ends = re.findall(r"^ +\d+ ACTIVE +lid (\d+) +4x EDR +(?:[\d.]+ )?-> (\S+) port \d+$", text, re.M)
        need(len(ends) == 96, text)
        data = listed(f)
        ports = ports_of(data)
        need(len(ports) == 96 and data["shape"] == "tiers" and {p["rate"] for p in ports.values()} == {"4x EDR"}, data)
        for host in ("H-0000", "H-0009"):
            lid = int(f.run(host, "cat", "/sys/class/infiniband/verbena0/ports/1/lid"), 16)
            need(ports[host, 1]["lid"] == lid and ports[host, 1]["state"] == "ACTIVE", ports[host, 1])
        for (node, port), p in ports.items():
            peer = p["peer"]
            need(ports[peer["node"], peer["port"]]["peer"] == {"node": node, "port": port}, f"{node} {port}: {p}")
        # Slower, down, and with errors.
        v = [context.verbena, "fabric", "--name", f.name]
        f.host.run(v + ["set", "S-0004", "2", "speed=QDR", "width=1x"])
        f.host.run(v + ["error", "S-0001", "1", "PortRcvErrors=3"])
        f.host.run(v + ["unlink", "S-0000", "3"])
        context.wait(lambda: ports_of(listed(f))["S-0004", 2]["state"] == "ACTIVE", 30, "the link does not come back")
        text = shown(f, "S-0004", "2")
        need(re.search(r"^ +2 ACTIVE +lid 0 +1x QDR +-> H-0009 port 1, LinkDownedCounter 1$", text, re.M) and "at the other end:\nCa H-0009 " in text,
             text)
        text = shown(f, "S-0001")
        need(re.search(r"^ +1 ACTIVE .*-> H-0002 port 1, PortRcvErrors 3$", text, re.M), text)
        need(ports_of(listed(f))["S-0001", 1]["errors"] == {"PortRcvErrors": 3}, "the error is not in the JSON")
        text = shown(f, "--compact")
        need(re.search(r"^ +3 DOWN +lid 0 +- +-> S-0008 port 1 \(unplugged\)", text, re.M), text)
        need("PortRcvErrors 3" in text and ": 94 ACTIVE, 2 DOWN; " in text and text.count("\n") < 45, text)
        # The name of the fabric, alone; and a node by its GUID.
        need("36 nodes" in f.host.run([context.verbena, "fabric", "show", f.name]), "not by its name")
        guid = next(n["guid"] for n in data["nodes"] if n["name"] == "H-0009")
        need(shown(f, guid).startswith(f"Ca H-0009 {guid} "), "not by its GUID")
    finally:
        f.end()


@case("subnet.show.rates", seconds=60)
def speeds_of_today(context):
    """Speeds above HDR have their names, and links without a manager their state."""
    f = Fabric(context, "shrates", write(context, "rates.net", """
Switch 4 "S" # "S"
[1] "H-N"[1] # "H-N" 4xNDR
[2] "H-X"[1] # "H-X" 2xXDR
Hca 1 "H-N"
Hca 1 "H-X"
"""))
    try:
        text = shown(f)
        need(re.search(r"^ +1 INIT +lid 0 +4x NDR +-> H-N port 1$", text, re.M) and
             re.search(r"^ +2 INIT +lid 0 +2x XDR +-> H-X port 1$", text, re.M), text)
        need(ports_of(listed(f))["S", 2]["gbps"] == 400, "an XDR lane has 200 Gb/s")
    finally:
        f.end()


@case("subnet.show.route", seconds=120)
def the_way_of_a_packet(context):
    """The route is that which ibtracert finds, there and back; where it ends early, the place and the reason are told."""
    f = Fabric(context, "shroute", "fat-tree:k=4", "--sm")
    try:
        ports = ports_of(listed(f))
        for one, other in (("H-0003", "H-0009"), ("H-0000", "H-0001"), ("H-0015", "H-0002")):
            ways = json.loads(shown(f, "--json", "--route", one, other))["ways"]
            for a, b, way in ((one, other, ways[0]), (other, one, ways[1])):
                need(way["arrives"] and way["from"]["node"] == a and way["slid"] == ports[a, 1]["lid"] and
                     way["dlid"] == ports[b, 1]["lid"], way)
                want = traced(f.run(a, "ibtracert", str(ports[a, 1]["lid"]), str(ports[b, 1]["lid"])))
                got = [(w["from"]["port"], w["to"]["port"], w["to"]["node"]) for w in way["links"]]
                need(want and got == want, f"{got}\nand ibtracert has\n{want}")
        text = shown(f, "-r", "H-0003/1", "H-0009")
        need(re.search(r"^H-0003 port 1 to H-0009 port 1: SLID \d+, DLID \d+, SL 0, P_Key 0x[7f]fff$", text, re.M), text)
        need(text.count("\n  arrives over 6 links\n") == 2, text)
        need(len(re.findall(r"^ +\d  \S+ port \d -> \S+ port \d  ACTIVE 4x EDR VL 0 P_Key ", text, re.M)) == 12, text)
        # A switch answers nothing by itself; a cable that is pulled ends both ways.
        need(shown(f, "-r", "H-0003", "S-0000").count("arrives") == 1, "there is one way to a switch")
        f.host.run([context.verbena, "fabric", "--name", f.name, "unlink", "H-0009", "1"])
        text = shown(f, "-r", "H-0003", "H-0009", status=1)
        need(re.search(r"^  ends at \S+ port \d+: .*$", text, re.M), text)
        need("ends at H-0009 port 1: its link is DOWN, the cable is unplugged\n" in text, text)
    finally:
        f.end()


@case("subnet.show.routers", seconds=120)
def through_a_router(context):
    """Into another subnet the way goes by GRH, through the router, whose LIDs follow. FAB-06"""
    f = Fabric(context, "shrt", write(context, "show.net", TWO), "--sm")
    try:
        nodes = [n["name"] for n in listed(f)["nodes"] if n["type"] == "adapter"]
        prefix = {name: p["prefix"] for (name, _), p in ports_of(listed(f)).items() if name in nodes}
        one, other = nodes[0], next(n for n in nodes if prefix[n] != prefix[nodes[0]])
        text = shown(f, "--route", one, other)
        need(text.count(f", by GRH to {prefix[other]} 0x") == 1 and text.count("  through 1 router, then SLID ") == 2, text)
        need(text.count("  arrives over 4 links\n") == 2 and " -> R-0000 port " in text, text)
        need("Routers: 1\n" in shown(f), shown(f))
    finally:
        f.end()


SVG = "{http://www.w3.org/2000/svg}"


def drawn(fabric, *arguments):
    """The drawing, parsed: the root, nodes by their names, and links, each with its classes and its title."""
    path = os.path.join(fabric.context.machine.folder, f"{fabric.name}.svg")
    shown(fabric, "--svg", path, *arguments)
    root = xml.etree.ElementTree.parse(path).getroot()
    groups = [g for g in root.iter(SVG + "g") if g.get("id")]
    nodes = {g.find(SVG + "text").text: g for g in groups if g.get("id")[0] == "n"}
    links = {g.find(SVG + "title").text: g for g in groups if g.get("id")[0] == "l"}
    os.unlink(path)
    return root, nodes, links


def link_of(links, one, other):
    """The classes and the title of the link between two ports."""
    found = [t for t in links if t.startswith((f"{one} - {other}\n", f"{other} - {one}\n"))]
    need(len(found) == 1, f"{one} - {other}: {found}")
    return links[found[0]].get("class").split(), found[0], links[found[0]]


@case("subnet.show.svg", seconds=120)
def a_drawing(context):
    """The drawing of a fat tree is XML: nodes, links with states and errors, tiers above each other, and names as text."""
    f = Fabric(context, "shsvg", "fat-tree:k=4", "--sm")
    try:
        v = [context.verbena, "fabric", "--name", f.name]
        f.host.run(v + ["error", "S-0001", "1", "PortRcvErrors=3"])
        f.host.run(v + ["unlink", "S-0000", "3"])
        f.host.run(v + ["set", "H-0003", "description=</title><script>alert(1)</script>"])
        root, nodes, links = drawn(f)
        need(root.get("class") == "fabric by-state" and len(nodes) == 36 and len(links) == 48, root.attrib)
        need(not list(root.iter(SVG + "script")) and "<script>alert(1)" in nodes["H-0003"].find(SVG + "title").text,
             "the description is not text")
        heights = [float(nodes[n].find(SVG + "rect").get("y")) for n in ("S-0016", "S-0008", "S-0000", "H-0000")]
        need(heights == sorted(set(heights)), f"the tiers are at {heights}")
        classes, title, link = link_of(links, "S-0001 port 1", "H-0002 port 1")
        need("s-active" in classes and "PortRcvErrors 3" in title and link.find(SVG + "circle") is not None, title)
        classes, title, _ = link_of(links, "S-0000 port 3", "S-0008 port 1")
        need("s-none" in classes and "DOWN, unplugged" in title, title)
        classes, title, link = link_of(links, "S-0002 port 1", "H-0004 port 1")
        need({"s-active", "r4"} <= set(classes) and "ACTIVE, 4x EDR, 100 Gb/s" in title and link.find(SVG + "circle") is None,
             title)
        need(drawn(f, "--color", "rate")[0].get("class") == "fabric by-rate", "it has not the colors of rates")
        for arguments, status, text in ((["--svg", "/nowhere/x.svg"], 1, "cannot write /nowhere/x.svg: No such file"),
                                        (["--svg", "x", "H-0000"], 2, "--svg shows a whole fabric"),
                                        (["--svg", "x", "H-0000", "1"], 2, "--svg and --html draw a whole fabric"),
                                        (["--color", "rate"], 2, "--color goes with --svg and --html"),
                                        (["--svg", "x", "--color", "red"], 2, "--color takes state, rate or load")):
            out = shown(f, *arguments, status=status)
            need(text in out, f"{arguments}: {out}")
    finally:
        f.end()


def look(b, page):
    """The page as it is read: whole, without an error, and asking for nothing else."""
    b.open(page)
    need(not b.errors(), "the browser complains")
    need(not b.run("return performance.getEntriesByType('resource').length"), "the page asks for other files")
    need(not b.run("return document.documentElement.scrollWidth > innerWidth"), "the page scrolls sideways")


def chosen_links(b):
    return b.run("return [...document.querySelectorAll('.link.chosen title')].map((t) => t.textContent.split('\\n')[0])")


@case("subnet.show.page", seconds=180)
def a_page(context):
    """The page for a browser: two clicks show a way, that of --route; filter, colors, zoom, hot links; names are text."""
    f = Fabric(context, "shpage", "fat-tree:k=4", "--sm")
    page, second = (os.path.join(context.machine.folder, name) for name in ("fabric.html", "fabric2.html"))
    try:
        v = [context.verbena, "fabric", "--name", f.name]
        f.host.run(v + ["error", "S-0001", "1", "PortRcvErrors=3"])
        f.host.run(v + ["set", "H-0003", "description=</script></title><script>window.stray = 1</script><img src=x onerror=stray=1>"])
        both(f, "ib_write_bw", "-n", "500")
        shown(f, "--html", page)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        need("<script>window.stray" not in text and "https://" not in text, "the page has what is not its own")
        way = json.loads(shown(f, "--json", "--route", "H-0003", "H-0009"))["ways"][0]["links"]
        f.host.run(v + ["unlink", "H-0009", "1"])
        shown(f, "--html", second)
        if not browser.is_there():
            return
        with browser.Browser(1280, 1000) as b:
            look(b, page)
            need(b.run("return window.stray === undefined && document.title.startsWith('Fabric shpage: 36 nodes')"), "a name was not text")
            need(b.run("return [document.querySelectorAll('#plan .node').length, document.querySelectorAll('#plan .link').length]") ==
                 [36, 48], "the drawing is not whole")
            nodes = {b.run("return fabric.nodes[arguments[0]].name", i): i for i in range(36)}
            b.click(f"#n{nodes['H-0003']}")
            b.click(f"#n{nodes['H-0009']}")
            got = b.run("return [...document.querySelectorAll('#hops li')].map((l) => l.textContent)")
            need(len(got) == len(way) and all(
                g.startswith(f"{w['from']['node']} port {w['from']['port']} → {w['to']['node']} port {w['to']['port']}, ACTIVE 4x EDR")
                for g, w in zip(got, way)), f"{got}\n{way}")
            need(len(chosen_links(b)) == len(way) and b.run("return $('end').textContent") == "It arrives over 6 links.", chosen_links(b))
            b.click("#swap")
            need(b.run("return document.querySelector('#hops li').textContent").startswith("H-0009 port 1 → "), "it is not the way back")
            b.click("#clear")
            need(not chosen_links(b) and b.run("return $('way').hidden"), "the way stays")
            b.press("#filter", "S-001")
            need(b.run("return document.querySelectorAll('.node:not(.dim)').length") == 10, "the filter leaves others")
            b.run("$('color').value = 'by-load'; $('color').onchange()")
            need(b.run("return getComputedStyle(document.querySelector('#plan .link.u5 .wire')).stroke") == "rgb(179, 18, 42)",
                 "a hot link is not red")
            busy = b.run("return [...document.querySelectorAll('#busy li')].slice(0, 4).map((l) => l.textContent)")
            need(all(re.search(r": 3\d\.\d MB$", line) for line in busy) and busy[0].startswith(("S-", "H-")), busy)
            need("S-0001 port 1 - H-0002 port 1: ACTIVE, 4x EDR" in b.run("return $('bad').textContent"), "the error is not listed")
            before = b.run("return svg.getBoundingClientRect().width")
            b.click("#in")
            need(b.run("return svg.getBoundingClientRect().width") > before * 1.3, "it does not zoom")
            b.run("svg.querySelector('.link').dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))")
            need("ACTIVE, 4x EDR, 100 Gb/s" in b.run("return $('words').textContent"), "a pointer shows nothing")
            look(b, second)
            b.run("$('from').value = 'H-0003'; $('to').value = 'H-0009'; showWay()")
            need(b.run("return $('end').textContent").startswith("It ends at "), b.run("return $('end').textContent"))
        with browser.Browser(400, 900, dark=True) as b:
            look(b, page)
    finally:
        f.end()


@case("subnet.show.large", seconds=120)
def many_nodes(context):
    """1,072 nodes: the drawing and the page are there in seconds, and the browser shows a way."""
    f = Fabric(context, "shlarge", "clos:leaves=32,spines=16,hosts=32", "--sm")
    page = os.path.join(context.machine.folder, "large.html")
    try:
        shown(f, "--html", page)
        need(os.path.getsize(page) < 4 << 20, "the page is too large")
        need(shown(f, "--compact").count("\n") < 60, "the short list is long")
        if not browser.is_there():
            return
        with browser.Browser(1280, 1000) as b:
            look(b, page)
            b.run("$('from').value = 'H-0001'; $('to').value = 'H-1001'; showWay()")
            need(b.run("return $('end').textContent") == "It arrives over 4 links.", b.run("return $('end').textContent"))
    finally:
        f.end()


@case("subnet.show.hot", seconds=120)
def hot_links(context):
    """After a transfer the links of its way are hot, and no others; while it goes on, by the share of their rate. LNK-38"""
    f = Fabric(context, "shhot", "fat-tree:k=4", "--sm")
    try:
        both(f, "ib_write_bw", "-n", "500")
        way = json.loads(shown(f, "--json", "--route", "H-0002", "H-0001"))["ways"][0]["links"]
        names = [(w["from"]["node"], w["from"]["port"]) for w in way]
        text = shown(f)
        hot = re.findall(r"^  (\S+) port (\d+) -> \S+ port \d+: 3\d\.\d MB$", text.partition("Hot links:\n")[2], re.M)
        need(sorted((n, int(p)) for n, p in hot) == sorted(names), f"{names}\n{text}")
        _, _, links = drawn(f, "--color", "load")
        busy = [t for t, g in links.items() if "u5" in g.get("class").split()]
        need(len(busy) == len(way), busy)
        server, client = start(f, "ib_write_bw", "-D", "8")
        client.wait_output("#bytes")
        data = listed(f, "--interval", "1")
        need(1 <= data["interval"] < 5, data["interval"])
        loads = {key: p["load"] for key, p in ports_of(data).items()}
        need(all(loads[n] > 0.01 for n in names) and sum(load > 0.01 for load in loads.values()) == len(names), loads)
        root, _, links = drawn(f, "--interval", "0.5")
        need(root.get("class") == "fabric by-load" and "% of its rate" in "".join(links), root.attrib)
        for p in (client, server):
            need(p.wait(60) == 0, client.story() + server.story())
    finally:
        f.end()


@case("subnet.show.words", seconds=60)
def wrong_words(context):
    """Each mistake on the command line is named, and its exit status says whose it is."""
    f = Fabric(context, "shwords", "star:hosts=2")
    try:
        for arguments, status, text in (
                (["H-0000", "x"], 1, "'H-0000' has the ports 1 to 1, and not 'x'"),
                (["S-0000", "3"], 1, "'S-0000' has the ports 0 to 2, and not '3'"),
                (["nobody"], 1, "the fabric 'shwords' has no node 'nobody'"),
                (["a", "b", "c"], 2, "'c' is one argument too many"),
                (["--frob"], 2, "unknown option '--frob'"),
                (["--rout", "H-0000"], 2, "--route goes with two nodes"),
                (["--route", "H-0000", "H-9"], 1, "has no node 'H-9'"),
                (["--route", "H-0000/2", "H-0001"], 1, "'H-0000' has the ports 1 to 1, and not '2'"),
                (["--route", "S-0000", "H-0001"], 1, "is a switch: packets of data begin at adapters"),
                (["--route", "--sl", "16", "H-0000", "H-0001"], 2, "--sl takes a whole number from 0 to 15, not '16'"),
                (["--route", "--path-bits", "1", "H-0000", "H-0001"], 1, "the port has 1 LIDs"),
                (["--route", "--pkey", "no", "H-0000", "H-0001"], 2, "--pkey takes a number"),
                (["--sl", "1"], 2, "go with --route"),
                (["--interval", "0"], 2, "--interval takes seconds"),
                (["--json", "H-0000", "1"], 2, "--json shows a whole fabric, not a node"),
                # Without a manager nobody has a LID.
                (["--route", "H-0000", "H-0001"], 1, "the destination has no LID yet")):
            out = shown(f, *arguments, status=status)
            need(text in out, f"{arguments}: {out}")
        out = f.host.run([context.verbena, "fabric", "show", "--help"])
        need(out.startswith("Usage: verbena fabric show "), out)
    finally:
        f.end()
