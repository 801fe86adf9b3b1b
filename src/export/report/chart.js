/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts of lines with bands: values under a cross hair, a range by dragging, lines off and on. */

const SVG = "http://www.w3.org/2000/svg";

/* An element with attributes; the last argument is its text. */
function draw(parent, name, attributes, text) {
	const e = document.createElementNS(SVG, name);
	for (const k in attributes)
		e.setAttribute(k, attributes[k]);
	if (text !== undefined)
		e.textContent = text;
	parent.append(e);
	return e;
}

/* Multiples of 1, 2 or 5 times a power of ten. */
function ticks(lo, hi, count) {
	const raw = (hi - lo) / count, unit = 10 ** Math.floor(Math.log10(raw)), m = raw / unit;
	const step = unit * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10), out = [];
	for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++)
		out.push(i * step);
	return out;
}

function logTicks(lo, hi) {
	const out = [];
	for (let p = Math.floor(Math.log10(lo)); 10 ** p <= hi * 1.001; p++)
		for (const m of hi / lo > 1000 ? [1] : [1, 2, 5])
			if (m * 10 ** p >= lo * 0.999 && m * 10 ** p <= hi * 1.001)
				out.push(m * 10 ** p);
	return out.length > 1 ? out : ticks(lo, hi, 4);
}

function short(v) {
	return String(+v.toPrecision(4));
}

/* {title, x: {name, unit, log}, y: {...}, lines: [{name, x: [], lo: [], hi: []}], step} */
class Chart {
	constructor(parent, spec, goTo) {
		this.spec = spec;
		this.goTo = spec.x.ns ? goTo : undefined; /* a time that is clicked at */
		this.off = new Set();
		this.figure = element(parent, "figure", "", "chart");
		element(this.figure, "h2", spec.title + (spec.y.unit ? ", " + spec.y.unit : ""));
		this.svg = draw(this.figure, "svg", {class: "plot", tabindex: 0, role: "img",
			"aria-label": spec.title + ". Left and right read values, plus and minus zoom, 0 shows all."});
		this.readout = element(this.figure, "p", "", "readout");
		this.readout.setAttribute("aria-live", "polite");
		this.legend();
		this.range = this.full = this.extent();
		this.svg.addEventListener("pointermove", (e) => this.onMove(e));
		this.svg.addEventListener("pointerdown", (e) => this.onDown(e));
		this.svg.addEventListener("pointerup", (e) => this.onUp(e));
		this.svg.addEventListener("pointercancel", () => { this.from = undefined; this.render(); });
		this.svg.addEventListener("pointerleave", () => this.cross(undefined));
		this.svg.addEventListener("dblclick", () => this.zoom(this.full));
		this.svg.addEventListener("keydown", (e) => this.onKey(e));
		this.svg.addEventListener("wheel", (e) => this.onWheel(e), {passive: false});
		new ResizeObserver(() => this.render()).observe(this.figure);
	}

	legend() {
		const box = element(this.figure, "div", "", "legend");
		this.spec.lines.forEach((line, i) => {
			line.color = `var(--c${i % 8})`;
			const b = element(box, "button", line.name);
			b.style.setProperty("--own", line.color);
			b.setAttribute("aria-pressed", "true");
			b.onclick = () => {
				if (!this.off.delete(i))
					this.off.add(i);
				b.setAttribute("aria-pressed", String(!this.off.has(i)));
				this.render();
			};
		});
	}

	extent() {
		let lo = Infinity, hi = -Infinity;
		for (const line of this.spec.lines)
			for (const x of line.x) {
				lo = Math.min(lo, x);
				hi = Math.max(hi, x);
			}
		return hi > lo ? [lo, hi] : [this.spec.x.log ? lo / 2 : lo - 1, this.spec.x.log ? lo * 2 : lo + 1];
	}

	shown() {
		return this.spec.lines.filter((_, i) => !this.off.has(i));
	}

	scaleX(v) {
		const [a, b] = this.range;
		const share = this.spec.x.log ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a);
		return this.left + share * (this.width - this.left - 12);
	}

	unscaleX(px) {
		const [a, b] = this.range;
		const share = Math.min(1, Math.max(0, (px - this.left) / (this.width - this.left - 12)));
		return this.spec.x.log ? a * (b / a) ** share : a + share * (b - a);
	}

	scaleY(v) {
		return this.bottom - (v / this.top) * (this.bottom - 10);
	}

	render() {
		const svg = this.svg, [a, b] = this.range;
		this.width = Math.max(260, this.figure.clientWidth);
		this.left = 52;
		this.bottom = 190;
		svg.setAttribute("viewBox", `0 0 ${this.width} 230`);
		svg.replaceChildren();
		this.top = 0;
		for (const line of this.shown())
			line.hi.forEach((v, i) => {
				if (line.x[i] >= a && line.x[i] <= b)
					this.top = Math.max(this.top, v);
			});
		this.top = this.top || 1;
		const marks = ticks(0, this.top, 5);
		this.top = Math.max(this.top, marks[marks.length - 1]);
		for (const v of marks) {
			draw(svg, "line", {class: "grid", x1: this.left, x2: this.width - 12, y1: this.scaleY(v), y2: this.scaleY(v)});
			draw(svg, "text", {x: this.left - 6, y: this.scaleY(v) + 4, "text-anchor": "end"}, short(v));
		}
		const at = this.spec.x.log ? logTicks(a, b) : ticks(a, b, Math.max(3, this.width / 110));
		for (const v of at)
			draw(svg, "text", {x: this.scaleX(v), y: this.bottom + 17, "text-anchor": "middle"}, short(v));
		draw(svg, "path", {class: "axis", d: `M${this.left} ${this.bottom}H${this.width - 12}`});
		draw(svg, "text", {x: (this.left + this.width) / 2, y: this.bottom + 35, "text-anchor": "middle"},
			this.spec.x.name + (this.spec.x.unit ? ", " + this.spec.x.unit : ""));
		for (const line of this.shown())
			this.line(line);
		this.over = draw(svg, "g", {});
	}

	line(line) {
		const [a, b] = this.range, upper = [], lower = [];
		let wide = false;
		for (let i = 0; i < line.x.length; i++) {
			const before = i + 1 < line.x.length ? line.x[i + 1] : line.x[i];
			const behind = i > 0 ? line.x[i - 1] : line.x[i];
			if (before < a || behind > b)
				continue;
			const x = this.scaleX(Math.min(b, Math.max(a, line.x[i]))).toFixed(1);
			if (this.spec.step && upper.length)
				upper.push(`${x} ${upper[upper.length - 1].split(" ")[1]}`);
			upper.push(`${x} ${this.scaleY(line.hi[i]).toFixed(1)}`);
			lower.push(`${x} ${this.scaleY(line.lo[i]).toFixed(1)}`);
			wide = wide || line.lo[i] < line.hi[i];
		}
		if (!upper.length)
			return;
		if (wide)
			draw(this.svg, "path", {class: "band", style: `fill:${line.color}`,
				d: "M" + upper.join("L") + "L" + lower.reverse().join("L") + "Z"});
		draw(this.svg, "path", {class: "line", style: `stroke:${line.color}`, d: "M" + upper.join("L")});
	}

	zoom(range) {
		this.range = range;
		this.render();
	}

	px(e) {
		const box = this.svg.getBoundingClientRect();
		return (e.clientX - box.left) * this.width / box.width;
	}

	onMove(e) {
		const px = this.px(e);
		this.cross(this.unscaleX(px));
		if (this.from !== undefined)
			draw(this.over, "rect", {class: "brush", x: Math.min(px, this.from), y: 10,
				width: Math.abs(px - this.from), height: this.bottom - 10});
	}

	onDown(e) {
		this.from = this.px(e);
		this.svg.setPointerCapture(e.pointerId);
	}

	onUp(e) {
		const px = this.px(e), from = this.from;
		this.from = undefined;
		if (from !== undefined && Math.abs(px - from) > 6)
			this.zoom([this.unscaleX(Math.min(px, from)), this.unscaleX(Math.max(px, from))]);
		else if (from !== undefined && this.goTo)
			this.goTo(this.unscaleX(px));
	}

	onWheel(e) {
		if (!e.ctrlKey && !e.shiftKey && document.activeElement !== this.svg)
			return; /* the page's own */
		e.preventDefault();
		this.zoomBy(e.deltaY + e.deltaX > 0 ? 1.25 : 0.8, this.unscaleX(this.px(e)));
	}

	zoomBy(factor, center) {
		if (this.spec.x.log)
			return;
		const [a, b] = this.range, [lo, hi] = this.full;
		this.zoom([Math.max(lo, center - (center - a) * factor), Math.min(hi, center + (b - center) * factor)]);
	}

	onKey(e) {
		const px = {ArrowLeft: -4, ArrowRight: 4}[e.key];
		if (e.key === "0" || e.key === "Escape")
			this.zoom(this.full);
		else if ("+=-".includes(e.key))
			this.zoomBy(e.key === "-" ? 2 : 0.5, this.at === undefined ? (this.range[0] + this.range[1]) / 2 : this.at);
		else if (px)
			this.cross(this.unscaleX(this.scaleX(this.at === undefined ? this.range[0] : this.at) + px));
		else
			return;
		e.preventDefault();
	}

	cross(x) {
		this.at = x;
		this.over.replaceChildren();
		if (x === undefined) {
			this.readout.textContent = "";
			return;
		}
		draw(this.over, "line", {class: "cross", x1: this.scaleX(x), x2: this.scaleX(x), y1: 10, y2: this.bottom});
		const parts = this.shown().map((line) => {
			let i = line.x.length - 1;
			while (i > 0 && line.x[i] > x)
				i--;
			return line.name + " " + (line.lo[i] < line.hi[i] ? short(line.lo[i]) + "…" : "") + short(line.hi[i]);
		});
		this.readout.textContent = `${short(x)} ${this.spec.x.unit || ""}: ${parts.join(" · ")}`;
	}
}
