/* SPDX-License-Identifier: BSD-2-Clause */
/* QPs that timed out, one at a time: why in words, and a line with a drawing for each event. */

const ROW_KIND = ["sent", "timeout", "nak", "refused", "resent", "progress", "end", "other", "gap", "next"];

function inWords(ns) {
	for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
		if (ns >= unit)
			return (ns / unit).toPrecision(4) + " " + name;
	return ns + " ns";
}

function showStory(story) {
	const why = document.getElementById("why"), list = document.getElementById("timeline");
	why.replaceChildren();
	list.replaceChildren();
	for (const line of story.what)
		element(why, "li", line);
	const begin = story.rows.length ? story.rows[0][1] : 0;
	const all = Math.max(1, ...story.rows.map(([, , at]) => at - begin));
	for (const [kind, from, at, text] of story.rows) {
		const row = element(list, "li");
		element(row, "time", "+" + inWords(at - begin));
		const span = element(row, "span");
		span.className = "span " + ROW_KIND[kind];
		if (at > from) {
			const bar = element(span, "i");
			bar.style.left = 100 * (from - begin) / all + "%";
			bar.style.width = 100 * (at - from) / all + "%";
		}
		element(span, "b").style.left = 100 * (at - begin) / all + "%";
		element(row, "span", text);
	}
}

function showStories(data, ladder) {
	if (!data.stories.length)
		return;
	const who = document.getElementById("who");
	document.getElementById("stories").hidden = false;
	data.stories.forEach((s, i) => who.add(new Option(
		`${ladder.hostName(s.host)} ${ladder.qpName(s.qpn)}: ${s.is}, ${s.timeouts} timeout${s.timeouts === 1 ? "" : "s"}`, i)));
	who.onchange = () => showStory(data.stories[+who.value]);
	showStory(data.stories[0]);
	if (data.stories_full)
		document.getElementById("stories-note").textContent =
			`There were more; of ${data.stories.length} QPs this is kept, and of those that failed first.`;
}
