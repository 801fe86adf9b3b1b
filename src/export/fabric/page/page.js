/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of a fabric: its drawing, the way between two nodes, filters, hot links. */

const data = JSON.parse(document.getElementById("data").textContent);
const fabric = new Fabric(data);
const $ = (id) => document.getElementById(id);
/* Parsed as XML, so that text in it stays text. */
const svg = document.importNode(new DOMParser().parseFromString(data.svg, "image/svg+xml").documentElement, true);
const plan = $("plan"), HOT = 20, STEP = 1.4;
const natural = Number(svg.getAttribute("width"));
let zoom = 1;

plan.append(svg);
document.title = `${data.title} – Verbena`;
$("title").textContent = data.title;
$("subtitle").textContent = data.subtitle;
for (const n of fabric.nodes)
	element($("names"), "option").value = n.name;

const shapes = {n: [], l: []};
for (const g of svg.querySelectorAll("g[id]"))
	shapes[g.id[0]][Number(g.id.slice(1))] = g;

function choose(links, nodes) {
	svg.querySelectorAll(".chosen").forEach((g) => g.classList.remove("chosen"));
	links.forEach((i) => shapes.l[i] && shapes.l[i].classList.add("chosen"));
	nodes.forEach((i) => shapes.n[i].classList.add("chosen"));
}

function bytes(n) {
	for (const unit of ["B", "kB", "MB", "GB", "TB", "PB"]) {
		if (n < 1000 || unit === "PB")
			return `${unit === "B" ? n : n.toFixed(1)} ${unit}`;
		n /= 1000;
	}
}

function busyText(port) {
	const p = fabric.ports[port], load = p[LOAD] >= 0 ? `, ${(p[LOAD] * 100).toFixed(1)} %` : "";
	return `${bytes(p[SENT])}${load}`;
}

function item(list, text, links, nodes) {
	const button = element(element(list, "li"), "button", text);
	button.onclick = () => {
		choose(links, nodes);
		const g = shapes.l[links[0]];
		if (g) {
			$("words").textContent = g.querySelector("title").textContent;
			g.scrollIntoView({block: "nearest", inline: "center"});
		}
	};
}

function showWay() {
	const from = fabric.byName.get($("from").value), to = fabric.byName.get($("to").value);
	const chosen = [from, to].filter((i) => i !== undefined);
	$("hops").replaceChildren();
	$("way").hidden = chosen.length < 2;
	if (chosen.length < 2) {
		choose([], chosen);
		return;
	}
	const {links, end} = fabric.way(from, to);
	for (const [out, into] of links) {
		const p = fabric.ports[out];
		item($("hops"), `${fabric.name(out)} → ${fabric.name(into)}, ${STATES[p[STATE]]} ${p[RATE]}, sent ${busyText(out)}`, [p[LINK]],
			[fabric.owner[out], fabric.owner[into]]);
	}
	$("end").textContent = end || `It arrives over ${links.length} link${links.length === 1 ? "" : "s"}.`;
	choose(links.map(([out]) => fabric.ports[out][LINK]),
		[...chosen, ...links.flatMap((l) => l.map((port) => fabric.owner[port]))]);
}

/* The first click is the beginning, the second one the end, the third one another beginning. */
function pick(node) {
	const name = fabric.nodes[node].name;
	if (!$("from").value || $("to").value) {
		$("from").value = name;
		$("to").value = "";
	} else {
		$("to").value = name;
	}
	showWay();
}

function clearWay() {
	$("from").value = $("to").value = "";
	showWay();
}

function filter() {
	const text = $("filter").value.toLowerCase();
	const away = fabric.nodes.map((n) => text !== "" && !n.name.toLowerCase().includes(text));
	shapes.n.forEach((g, i) => g.classList.toggle("dim", away[i]));
	shapes.l.forEach((g, i) => {
		const [a, b] = data.links[i];
		g.classList.toggle("dim", away[a] && (b < 0 || away[b]));
	});
}

function zoomTo(to) {
	zoom = Math.max(0.05, Math.min(8, to));
	svg.style.width = `${natural * zoom}px`;
	svg.style.height = "auto";
}

function showLists() {
	const heat = (p) => p[LOAD] >= 0 ? p[LOAD] : p[SENT];
	const order = fabric.ports.map((_, i) => i).filter((i) => fabric.ports[i][SENT] > 0 && fabric.ports[i][LINK] >= 0)
		.sort((a, b) => heat(fabric.ports[b]) - heat(fabric.ports[a])).slice(0, HOT);
	for (const i of order) {
		const peer = fabric.ports[i][PEER];
		item($("busy"), `${fabric.name(i)}${peer >= 0 ? " → " + fabric.name(peer) : ""}: ${busyText(i)}`, [fabric.ports[i][LINK]],
			[fabric.owner[i]]);
	}
	shapes.l.forEach((g, i) => {
		if (g.querySelector(".error") || !g.classList.contains("s-active"))
			item($("bad"), g.querySelector("title").textContent.split("\n").slice(0, 2).join(": "), [i], []);
	});
	$("wrong").hidden = !$("bad").children.length;
}

svg.addEventListener("click", (event) => {
	const g = event.target.closest("g[id]");
	if (!g)
		return;
	if (g.id[0] === "n")
		pick(Number(g.id.slice(1)));
	else
		choose([Number(g.id.slice(1))], []);
});
svg.addEventListener("pointerover", (event) => {
	const g = event.target.closest("g[id]");
	$("words").textContent = g ? g.querySelector("title").textContent : data.summary;
});
for (const id of ["from", "to"])
	$(id).addEventListener("input", showWay);
$("filter").addEventListener("input", filter);
$("swap").onclick = () => {
	[$("from").value, $("to").value] = [$("to").value, $("from").value];
	showWay();
};
$("clear").onclick = clearWay;
$("color").value = [...svg.classList].find((c) => c.startsWith("by-"));
$("color").onchange = () => {
	svg.classList.remove("by-state", "by-rate", "by-load");
	svg.classList.add($("color").value);
};
$("in").onclick = () => zoomTo(zoom * STEP);
$("out").onclick = () => zoomTo(zoom / STEP);
$("all").onclick = () => zoomTo(Math.min(1, plan.clientWidth / natural));
document.addEventListener("keydown", (event) => {
	if (event.key === "Escape")
		clearWay();
	if (event.target.tagName === "INPUT" || event.ctrlKey || event.altKey || event.metaKey)
		return;
	if (event.key === "+" || event.key === "-")
		zoomTo(event.key === "+" ? zoom * STEP : zoom / STEP);
	if (event.key === "0")
		$("all").click();
});
showLists();
$("words").textContent = data.summary;
$("all").click();
