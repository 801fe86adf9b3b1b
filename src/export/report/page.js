/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the data of the file into the page. */

const data = JSON.parse(document.getElementById("data").textContent);

document.title = data.title + " – Verbena";
document.getElementById("title").textContent = data.title;
document.getElementById("subtitle").textContent = data.subtitle;
for (const [name, value] of data.summary) {
	const box = element(document.getElementById("summary"), "div");
	element(box, "dt", name);
	element(box, "dd", value);
}
/* Long times are in longer units. */
function suitTime(chart) {
	const last = Math.max(...chart.lines.map((line) => line.x[line.x.length - 1] || 0));
	const [scale, unit] = last >= 1e7 ? [1e6, "s"] : last >= 1e4 ? [1e3, "ms"] : [1, "µs"];
	chart.x.ns = scale * 1e3;
	chart.x.unit = unit;
	for (const line of chart.lines)
		line.x = line.x.map((x) => x / scale);
}

const ladder = new Ladder(data);
if (data.ladder)
	document.getElementById("ladder-title").textContent = data.ladder;
for (const chart of data.charts) {
	/* Series share their times. */
	for (const line of chart.lines) {
		line.x = line.x || line.hi.map((_, i) => chart.from + i * chart.each);
		line.lo = line.lo || line.hi;
	}
	if (chart.x.unit === "µs" && chart.x.name === "time")
		suitTime(chart);
	if (chart.lines.some((line) => line.x.length))
		new Chart(document.getElementById("charts"), chart, (x) => ladder.goTime(x * chart.x.ns));
}
showStories(data, ladder);
document.getElementById("left-out").textContent = data.left_out;
