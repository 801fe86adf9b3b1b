/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet sequence: a line down for each host, time goes down, one arrow for each packet. Every
 * packet is two events, its departure and its arrival or loss. */

const PACKET = 0, TIMER = 1, REWOUND = 2, COMPLETION = 3, GAVE_UP = 4;
const RESENT = 1, CE = 2, CORRUPT = 4, LOST = 8, END_UNSEEN = 16, START_UNSEEN = 32;
const UNKNOWN = 0xffffffff, DRAWN_MAX = 500, TOP = 38;

/* Times in the unit that suits a span, all in ns. */
function unitOf(span) {
	return [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([ns]) => span >= 5 * ns) || [1e3, "µs"];
}

/* Names the fields of a step, which the file has as a list. */
function stepOf(list) {
	const [kind, at, end, connection, side, opcode, a, b, c, syndrome, flags, faults, drop] = list;
	return {kind, at, end, connection, side, opcode, a, b, c, syndrome, flags, faults, drop};
}

function nakName(syndrome) {
	if ((syndrome & 0xe0) === 0x20)
		return "RNR NAK";
	if ((syndrome & 0xe0) === 0x60)
		return {0x60: "NAK, PSN sequence error", 0x61: "NAK, invalid request", 0x62: "NAK, remote access error",
			0x63: "NAK, remote operational error"}[syndrome] || "NAK";
	return "";
}

class Ladder {
	constructor(data) {
		this.data = data;
		this.steps = data.steps.map(stepOf);
		this.box = document.getElementById("drawing");
		this.words = document.getElementById("words");
		this.tip = document.getElementById("tip");
		this.pen = document.createElement("canvas").getContext("2d");
		this.svg = draw(this.box, "svg", {"aria-hidden": "true"});
		this.current = -1;
		/* How far a lost packet would have gone is not known; it is drawn like the fastest. */
		this.usual = this.steps.reduce((least, s) => s.kind === PACKET && s.end > s.at && !(s.flags & LOST) ?
			Math.min(least, s.end - s.at) : least, Infinity);
		this.controls();
		new ResizeObserver(() => this.render()).observe(this.box);
		this.select();
	}

	isTrouble(s) {
		return s.kind === TIMER || s.kind === REWOUND || s.kind === GAVE_UP || (s.kind === COMPLETION && s.a) ||
			s.flags & (RESENT | CORRUPT | LOST) || nakName(s.syndrome) !== "";
	}

	controls() {
		const id = (name) => document.getElementById(name), count = new Map(), trouble = new Map();
		for (const s of this.steps) {
			count.set(s.connection, (count.get(s.connection) || 0) + 1);
			if (this.isTrouble(s))
				trouble.set(s.connection, (trouble.get(s.connection) || 0) + 1);
		}
		this.filter = id("filter");
		this.filter.add(new Option(`all (${this.steps.length} steps)`, "all"));
		for (const [k, n] of count) {
			const t = trouble.get(k) || 0;
			this.filter.add(new Option(`${this.endName(k, 0)} – ${this.endName(k, 1)} (${n}${t ? ", " + t + " of trouble" : ""})`, k));
		}
		/* The one with the most to see. */
		const best = [...count.keys()].sort((a, b) => (trouble.get(b) || 0) - (trouble.get(a) || 0))[0];
		this.filter.value = best === undefined ? "all" : best;
		this.filter.onchange = () => this.select();
		this.only = id("trouble");
		this.only.onchange = () => this.select();
		id("first").onclick = () => this.go(0);
		id("back").onclick = () => this.go(this.current - 1);
		id("next").onclick = () => this.go(this.current + 1);
		id("last").onclick = () => this.go(this.events.length - 1);
		id("jump").onclick = () => this.jump();
		id("in").onclick = () => this.zoom(0.5);
		id("out").onclick = () => this.zoom(2);
		id("all").onclick = () => this.view(this.full[0], this.full[1]);
		this.box.addEventListener("keydown", (e) => this.onKey(e));
		this.box.addEventListener("wheel", (e) => this.onWheel(e), {passive: false});
		this.box.addEventListener("pointerdown", (e) => this.onDown(e));
		this.box.addEventListener("pointermove", (e) => this.onMove(e));
		this.box.addEventListener("pointerleave", () => { this.tip.hidden = true; });
		this.box.addEventListener("pointerup", (e) => this.onUp(e));
		this.box.addEventListener("pointercancel", () => { this.grip = undefined; });
	}

	hostName(h) {
		return h === UNKNOWN ? "group" : this.data.hosts[h] || "host " + h;
	}

	/* A number as programs print it: live ones in hexadecimal. */
	qpName(qpn) {
		if (qpn === 0)
			return "QP not known";
		return "QP " + (this.data.hosts.length ? "0x" + qpn.toString(16).padStart(6, "0") : qpn);
	}

	endName(connection, side) {
		const c = this.data.connections[connection];
		return `${this.hostName(c[side ? 2 : 0])} ${this.qpName(c[side ? 3 : 1])}`;
	}

	/* Takes what the filter lets through. */
	select() {
		const which = this.filter.value;
		this.seen = this.steps.filter((s) => (which === "all" || s.connection === +which) &&
			(!this.only.checked || this.isTrouble(s)));
		this.events = [];
		const hosts = new Set();
		for (const s of this.seen) {
			const [a, , b] = this.data.connections[s.connection];
			hosts.add(a).add(b);
			this.events.push({t: s.at, step: s, ends: false});
			if (s.kind === PACKET && s.end >= 0 && !(s.flags & (END_UNSEEN | START_UNSEEN)))
				this.events.push({t: s.end, step: s, ends: true});
		}
		this.events.sort((a, b) => a.t - b.t);
		this.hosts = [...hosts].sort((a, b) => a - b);
		const last = this.events.length ? this.events[this.events.length - 1].t : 1;
		this.full = this.events.length ? [this.events[0].t, Math.max(last, this.events[0].t + 1)] : [0, 1];
		const early = this.events[Math.min(40, this.events.length - 1)];
		/* At least as long as a packet and its answer take. */
		const least = this.full[0] + (isFinite(this.usual) ? 2.5 * this.usual : 1);
		this.range = [this.full[0], early ? Math.max(early.t, Math.min(least, this.full[1])) : 1];
		this.pad();
		this.current = -1;
		this.go(0);
	}

	pad() {
		const d = (this.range[1] - this.range[0]) * 0.04;
		this.range = [this.range[0] - d, this.range[1] + d];
	}

	go(i) {
		if (!this.events.length) {
			this.words.textContent = this.only.checked && this.steps.length ? "No trouble here." : "No packets were recorded.";
			this.render();
			return;
		}
		this.current = Math.max(0, Math.min(this.events.length - 1, i));
		const t = this.events[this.current].t, [a, b] = this.range;
		if (t < a || t > b)
			this.range = [t - (b - a) * 0.25, t + (b - a) * 0.75];
		this.words.textContent = `${this.current + 1} of ${this.events.length} · ${(t / 1e3).toFixed(3)} µs · ` +
			this.say(this.events[this.current]);
		this.tip.hidden = true;
		this.render();
	}

	jump() {
		for (let i = this.current + 1; i < this.events.length; i++)
			if (this.isTrouble(this.events[i].step)) {
				this.go(i);
				return;
			}
		this.words.textContent = "No trouble after this event.";
	}

	packetName(s) {
		const nak = nakName(s.syndrome), opcode = this.data.opcodes[s.opcode] || "opcode " + s.opcode;
		const mad = /^UD_/.test(opcode) ? this.data.mads[s.c] : undefined;
		return `${nak || mad || opcode} PSN ${s.a}`;
	}

	say(event) {
		const s = event.step, c = this.data.connections[s.connection];
		const from = this.hostName(c[s.side ? 2 : 0]), to = this.hostName(c[s.side ? 0 : 2]);
		const here = this.endName(s.connection, s.side);
		if (s.kind === TIMER && s.b === UNKNOWN)
			return `The ACK timer of ${here} has fired: nothing was heard for ${inWords(s.c * 1e3)}, PSN ${s.a} is not acknowledged.`;
		if (s.kind === TIMER)
			return `The ACK timer of ${here} fires: PSN ${s.a} is not acknowledged; ${s.b} retries left.`;
		if (s.kind === REWOUND)
			return `${here} goes back to PSN ${s.a}, from PSN ${s.b}, after ${this.data.rewinds[s.c] || "an error"}.`;
		if (s.kind === COMPLETION)
			return `${here} completes a work request` + (s.a ? ` with error ${s.a}.` : s.c ? `, ${s.c} bytes.` : ".");
		if (s.kind === GAVE_UP)
			return `${here} gives up.`;
		const name = this.packetName(s) + (s.b ? `, ${s.b} bytes` : "") + (s.c && s.syndrome !== undefined && /ACK/.test(this.data.opcodes[s.opcode]) ? `, MSN ${s.c}` : "");
		const faults = this.data.faults.filter((_, i) => s.faults & 1 << i).join(", ");
		const again = s.flags & RESENT ? ", not for the first time" : "";
		if (s.flags & START_UNSEEN)
			return `${name} from ${from} arrives at ${to}${again}` + (s.flags & CE ? ", marked CE" : "") +
				(faults ? `; fault: ${faults}` : "") + "; its departure was not captured.";
		if (!event.ends)
			return `${here} sends ${name} to ${to}${again}` + (s.flags & END_UNSEEN ? "; its arrival was not captured." : ".") +
				(s.end < 0 ? " It is still under way at the end." : "");
		if (s.flags & LOST)
			return `${name} from ${from} is lost: ` + (s.drop ? this.data.drops[s.drop - 1] : faults ? "fault: " + faults :
				"it left, and did not arrive") + ".";
		if (s.flags & CORRUPT)
			return `${name} from ${from} comes damaged to ${to}, which drops it.`;
		return `${name} from ${from} arrives at ${to} after ${((s.end - s.at) / 1e3).toFixed(3)} µs` +
			(s.flags & CE ? ", marked CE" : "") + (faults ? `; fault: ${faults}` : "") + ".";
	}

	view(a, b) {
		this.range = [a, b];
		this.pad();
		this.render();
	}

	zoom(factor, center) {
		const [a, b] = this.range, t = this.current < 0 ? a : this.events[this.current].t;
		const c = center !== undefined ? center : t >= a && t <= b ? t : (a + b) / 2;
		const length = Math.min(Math.max((b - a) * factor, 20), 1.2 * (this.full[1] - this.full[0]) + 20);
		this.range = [c - (c - a) * length / (b - a), c + (b - c) * length / (b - a)];
		this.render();
	}

	move(share) {
		const d = (this.range[1] - this.range[0]) * share;
		this.range = [this.range[0] + d, this.range[1] + d];
		this.render();
	}

	onKey(e) {
		const act = {
			ArrowRight: () => this.go(this.current + 1), " ": () => this.go(this.current + 1),
			ArrowLeft: () => this.go(this.current - 1), Home: () => this.go(0),
			End: () => this.go(this.events.length - 1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
			"-": () => this.zoom(2), "0": () => this.view(this.full[0], this.full[1]),
			ArrowUp: () => this.move(-0.1), ArrowDown: () => this.move(0.1), n: () => this.jump(), N: () => this.jump(),
		}[e.key];
		if (!act || e.ctrlKey || e.metaKey || e.altKey)
			return;
		e.preventDefault();
		act();
	}

	/* The page's own, until the drawing has been clicked into. */
	onWheel(e) {
		if (!e.ctrlKey && !e.shiftKey && document.activeElement !== this.box)
			return;
		e.preventDefault();
		this.zoom(e.deltaY + e.deltaX > 0 ? 1.25 : 0.8, this.timeAt(this.py(e)));
	}

	py(e) {
		const box = this.svg.getBoundingClientRect();
		return (e.clientY - box.top) * this.height / box.height;
	}

	onDown(e) {
		this.grip = this.from = e.clientY;
		this.box.setPointerCapture(e.pointerId);
	}

	onMove(e) {
		if (this.grip !== undefined) {
			this.move((this.grip - e.clientY) / (this.height - 50));
			this.grip = e.clientY;
			this.tip.hidden = true;
			return;
		}
		const i = this.eventAt(e);
		this.tip.hidden = i === undefined;
		if (i === undefined)
			return;
		this.tip.textContent = `${(this.events[i].t / 1e3).toFixed(3)} µs · ${this.say(this.events[i])}`;
		const box = this.box.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
		this.tip.style.left = Math.max(0, Math.min(x + 14, box.width - this.tip.offsetWidth - 4)) + "px";
		this.tip.style.top = (y + 18 + this.tip.offsetHeight > box.height ? y - this.tip.offsetHeight - 10 : y + 18) + "px";
	}

	/* A click without a drag goes to what it hits. */
	onUp(e) {
		const still = this.from !== undefined && Math.abs(e.clientY - this.from) < 4, i = this.eventAt(e);
		this.grip = this.from = undefined;
		this.box.focus();
		if (still && i !== undefined)
			this.go(i);
	}

	/* The event under the pointer: that end of the packet which is nearer. */
	eventAt(e) {
		const g = e.target instanceof Element || e.type ? document.elementsFromPoint(e.clientX, e.clientY).map((x) => x.closest("g[data-i]")).find((x) => x) : undefined;
		if (!g)
			return undefined;
		const step = this.seen[+g.dataset.i], t = this.timeAt(this.py(e));
		let best;
		for (let i = 0; i < this.events.length; i++)
			if (this.events[i].step === step && (best === undefined || Math.abs(this.events[i].t - t) < Math.abs(this.events[best].t - t)))
				best = i;
		return best;
	}

	/* To the first event at @t or behind. */
	goTime(t) {
		const i = this.events.findIndex((e) => e.t >= t);
		if (i >= 0)
			this.go(i);
	}

	y(t) {
		return TOP + (t - this.range[0]) / (this.range[1] - this.range[0]) * (this.height - 50);
	}

	timeAt(y) {
		return this.range[0] + (y - TOP) / (this.height - 50) * (this.range[1] - this.range[0]);
	}

	x(host) {
		const left = this.width < 600 ? 112 : 204, right = this.width < 600 ? 36 : 120, i = this.hosts.indexOf(host);
		return this.hosts.length < 2 ? left : left + i * (this.width - left - right) / (this.hosts.length - 1);
	}

	render() {
		if (!this.range)
			return;
		this.width = Math.max(280, this.box.clientWidth);
		this.height = Math.max(420, Math.min(720, window.innerHeight * 0.75));
		const svg = this.svg, [a, b] = this.range;
		svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
		svg.replaceChildren();
		const [unit, name] = unitOf(b), marks = ticks(a / unit, b / unit, 8);
		const digits = Math.max(0, Math.ceil(-Math.log10(marks[1] - marks[0]) - 1e-9)) || 0;
		this.taken = [];
		for (const t of marks) {
			draw(svg, "line", {class: "grid", x1: 80, x2: this.width, y1: this.y(t * unit), y2: this.y(t * unit)});
			draw(svg, "text", {x: 76, y: this.y(t * unit) + 4, "text-anchor": "end"}, t.toFixed(digits));
			this.taken.push([0, this.y(t * unit) - 8, 78, this.y(t * unit) + 6]);
		}
		for (const h of this.hosts)
			draw(svg, "line", {class: "life", x1: this.x(h), x2: this.x(h), y1: 28, y2: this.height});
		this.packets(svg, a, b);
		draw(svg, "rect", {class: "cover", x: 0, y: 0, width: this.width, height: 28});
		draw(svg, "text", {x: 76, y: 20, "text-anchor": "end"}, name);
		this.heads(svg);
	}

	/* Names of hosts, those for which there is room. */
	heads(svg) {
		let free = 84;
		for (const h of this.hosts) {
			const text = this.hostName(h), half = this.textWidth(text, true) / 2;
			const x = Math.min(Math.max(this.x(h), half + 84), this.width - half - 2);
			if (x - half < free)
				continue;
			draw(svg, "text", {class: "head", x, y: 20, "text-anchor": "middle"}, text);
			free = x + half + 10;
		}
	}

	textWidth(text, bold) {
		const style = getComputedStyle(this.svg);
		this.pen.font = `${bold ? 620 : 400} ${style.fontSize} ${style.fontFamily}`;
		return this.pen.measureText(text).width;
	}

	packets(svg, a, b) {
		const now = this.current < 0 ? undefined : this.events[this.current];
		const inside = [];
		this.seen.forEach((s, i) => {
			if (s.at <= b && (s.end < 0 ? s.at : s.end) >= a)
				inside.push(i);
		});
		const shown = inside.slice(0, DRAWN_MAX);
		this.labels = [];
		for (const i of shown) {
			const s = this.seen[i], current = now && now.step === s;
			const g = draw(svg, "g", {"data-i": i, class: (now && s.at > now.t ? "later" : "") + (current ? " current" : "")});
			if (s.kind === PACKET)
				this.packet(g, s, current);
			else
				this.local(g, s, current);
		}
		if (now) {
			draw(svg, "line", {class: "now", x1: 80, x2: this.width, y1: this.y(now.t), y2: this.y(now.t)});
			const c = this.data.connections[now.step.connection];
			if (!(now.ends && now.step.flags & LOST))
				draw(svg, "circle", {class: "spot", r: 4, cy: this.y(now.t),
					cx: this.x(c[now.step.side !== +now.ends ? 2 : 0])});
		}
		this.placeLabels();
		if (inside.length > shown.length)
			draw(svg, "text", {x: this.width / 2, y: this.height - 8, "text-anchor": "middle", class: "head"},
				`${inside.length - shown.length} more here are not drawn: zoom in`);
	}

	/* Text that wants one of these places, {x, y, anchor}: what matters most is placed first, and what
	 * would lie on other text stays away. */
	label(g, text, weight, places) {
		this.labels.push({className: "label " + g.getAttribute("class"), text, weight, places, width: this.textWidth(text, weight > 2)});
	}

	placeLabels() {
		const top = draw(this.svg, "g", {});
		this.labels.sort((a, b) => b.weight - a.weight);
		for (const l of this.labels) {
			const found = l.places.map((p) => {
				const x = p.anchor === "end" ? p.x - l.width : p.anchor === "middle" ? p.x - l.width / 2 : p.x;
				return {p, box: [x - 2, p.y - 10, x + l.width + 2, p.y + 3]};
			}).find(({box}) => box[0] >= 80 && box[2] <= this.width && box[1] >= 28 && box[3] <= this.height &&
				!this.taken.some((t) => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3]));
			if (!found)
				continue;
			this.taken.push(found.box);
			draw(top, "text", {class: l.className, x: found.p.x, y: found.p.y, "text-anchor": found.p.anchor}, l.text);
		}
	}

	packet(g, s, current) {
		const c = this.data.connections[s.connection], from = c[s.side ? 2 : 0], to = c[s.side ? 0 : 2];
		const lost = s.flags & LOST || s.end < 0, x1 = this.x(from);
		const x2 = lost ? x1 + (this.x(to) - x1) * 0.55 : this.x(to), y1 = this.y(s.at);
		const gone = s.flags & (END_UNSEEN | START_UNSEEN) ? s.end : Math.max(s.end, s.at + (isFinite(this.usual) ? this.usual * 0.55 : 0));
		const y2 = this.y(lost ? gone : s.end), name = this.data.opcodes[s.opcode] || "";
		const bad = lost || s.flags & CORRUPT;
		const kind = bad ? "lost" : nakName(s.syndrome) ? "nak" : s.flags & RESENT ? "again" :
			name === "CNP" ? "cnp" : /ACK|RESP/.test(name) ? "ack" : "request";
		const line = `M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}`;
		draw(g, "path", {class: "hit", d: line});
		draw(g, "path", {class: "packet " + kind, d: line});
		if (bad) {
			draw(g, "path", {class: "cut", d: `M${x2 - 4} ${y2 - 4}l8 8m0 -8l-8 8`});
		} else {
			const angle = Math.atan2(y2 - y1, x2 - x1);
			const p = (turn) => `${(x2 - 8 * Math.cos(angle + turn)).toFixed(1)} ${(y2 - 8 * Math.sin(angle + turn)).toFixed(1)}`;
			draw(g, "path", {class: "packet " + kind, style: "stroke-dasharray:none",
				d: `M${p(0.4)}L${x2.toFixed(1)} ${y2.toFixed(1)}L${p(-0.4)}`});
		}
		if (this.hosts.length > 2 && !current)
			return;
		const text = this.packetName(s).replace(this.width < 600 ? /^RC_|, PSN sequence error/ : /^$/, "");
		/* Of a steep arrow that leaves the drawing: still near its end. */
		const near = Math.min(0.03, 14 / Math.max(1, Math.abs(y2 - y1)));
		const on = (share, anchor) => ({x: x1 + (x2 - x1) * share + (anchor === "start" ? 8 : anchor === "end" ? -8 : 0),
			y: y1 + (y2 - y1) * share - 4, anchor});
		const [first, last] = x2 > x1 ? ["start", "end"] : ["end", "start"];
		this.label(g, text, current ? 4 : this.isTrouble(s) ? 2 : 1,
			this.hosts.length > 2 ? [on(0.5, "middle")] : [on(near, first), on(1 - near, last)]);
	}

	local(g, s, current) {
		const c = this.data.connections[s.connection], host = c[s.side ? 2 : 0], x = this.x(host), y = this.y(s.at);
		const far = this.hosts.length > 1 && host === this.hosts[this.hosts.length - 1];
		draw(g, "rect", {class: "local" + (s.kind !== COMPLETION || s.a ? " timer" : ""), x: x - 4, y: y - 4, width: 8, height: 8,
			transform: `rotate(45 ${x} ${y})`});
		if (this.hosts.length > 2 && !current)
			return;
		const text = {[TIMER]: s.b === UNKNOWN ? `timer, ${inWords(s.c * 1e3)}` : "timer", [REWOUND]: `back to ${s.a}`,
			[COMPLETION]: s.a ? "error" : "done", [GAVE_UP]: "gives up"}[s.kind];
		const [dx, anchor] = far ? [10, "start"] : [-10, "end"];
		this.label(g, text, current ? 4 : s.kind === COMPLETION && !s.a ? 0 : 3,
			[4, -9, 17, -22, 30].map((dy) => ({x: x + dx, y: y + dy, anchor})));
	}
}
