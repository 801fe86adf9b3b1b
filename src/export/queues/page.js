/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of a QP, an element at a time: a strip for each queue, in the order of indices, with the places where the
 * program writes on and the adapter reads on; and of the element that is chosen, its bytes and fields. */

const data = JSON.parse(document.getElementById("data").textContent);
const steps = [];
let at = 0;

function place(strip, text) {
	element(strip, "span", text, "place");
}

/* The places of a queue stand in front of its first new element, or behind all. */
function showPlaces(strip, queue) {
	if (queue.adapter_read !== undefined)
		place(strip, `adapter reads on at ${queue.adapter_read}`);
	else if (queue.elements.some((e) => e.state === "to be read" || e.state === "read"))
		place(strip, `program reads on at ${queue.doorbell_record}`);
}

function isNew(e) {
	return e.state === "posted" || e.state === "to be read";
}

function showQueue(queue) {
	const box = element(document.getElementById("queues"), "div", "", "queue");
	element(box, "h2", queue.name);
	element(box, "p", `${queue.count} of ${queue.bytes} bytes; the doorbell record says ${queue.doorbell_record}` +
		(queue.copied ? "" : "; its memory cannot be read"), "note");
	const strip = element(box, "div", "", "strip");
	/* Of receives the last posted comes first. */
	const elements = queue.name === "Receive queue" ? [...queue.elements].reverse() : queue.elements;
	let isMarked = false;
	for (const e of elements) {
		if (isNew(e) && !isMarked) {
			showPlaces(strip, queue);
			isMarked = true;
		}
		const number = steps.length, button = element(strip, "button", `[${e.index}]`, isNew(e) ? "new" : "");
		button.title = e.state || "";
		button.onclick = () => go(number);
		steps.push({queue, e, button});
	}
	if (!isMarked)
		showPlaces(strip, queue);
	if (queue.adapter_read !== undefined)
		place(strip, `doorbell: program writes on at ${queue.doorbell_record}`);
}

/* 16 bytes a line, in words of 4. */
function inHex(segment) {
	const lines = [];
	for (let i = 0; i < segment.bytes.length; i += 32) {
		const offset = (segment.at + i / 2).toString(16).padStart(3, "0");
		lines.push(`${offset}  ${segment.bytes.slice(i, i + 32).match(/.{1,8}/g).join(" ")}`);
	}
	return lines.join("\n");
}

function showSegment(segment) {
	const box = element(document.getElementById("segments"), "div", "", "segment");
	element(box, "h2", segment.name);
	element(box, "pre", inHex(segment));
	const list = element(box, "ul");
	for (const field of segment.fields) {
		const row = element(list, "li");
		element(row, "span", field.name);
		element(row, "span", field.value + (field.word ? ` (${field.word})` : ""));
	}
}

function go(number) {
	if (!steps.length)
		return;
	steps[at].button.removeAttribute("aria-current");
	at = Math.max(0, Math.min(steps.length - 1, number));
	const {queue, e, button} = steps[at];
	button.setAttribute("aria-current", "true");
	document.getElementById("words").textContent =
		`${queue.name}, index ${e.index}${e.state ? ": " + e.state : ""} (${at + 1} of ${steps.length})`;
	document.getElementById("segments").replaceChildren();
	e.segments.forEach(showSegment);
}

const MOVES = {first: () => 0, back: () => at - 1, next: () => at + 1, last: () => steps.length - 1};
const KEYS = {Home: "first", ArrowLeft: "back", ArrowRight: "next", " ": "next", End: "last"};
for (const id in MOVES)
	document.getElementById(id).onclick = () => go(MOVES[id]());
document.addEventListener("keydown", (event) => {
	if (!KEYS[event.key] || event.ctrlKey || event.altKey || event.metaKey ||
		(event.key === " " && event.target.tagName === "BUTTON"))
		return;
	event.preventDefault();
	go(MOVES[KEYS[event.key]]());
});

const qpn = "0x" + data.qpn.toString(16).padStart(6, "0");
document.title = `QP ${qpn} – Verbena`;
document.getElementById("title").textContent = `Queues of QP ${qpn}`;
document.getElementById("subtitle").textContent = `Process ${data.pid}: ` +
	(data.raw ? "the program writes into its queues by itself" : "verbs write into its queues");
data.queues.forEach(showQueue);
document.getElementById("words").textContent = steps.length ? "" : "No queue has an element.";
go(0);
