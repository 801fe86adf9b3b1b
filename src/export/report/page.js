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
for (const chart of data.charts) {
	/* Series share their times. */
	for (const line of chart.lines) {
		line.x = line.x || line.hi.map((_, i) => i * chart.each);
		line.lo = line.lo || line.hi;
	}
	if (chart.lines.some((line) => line.x.length))
		new Chart(document.getElementById("charts"), chart);
}
showStories(data);
new Ladder(data);
document.getElementById("left-out").textContent = data.left_out;
