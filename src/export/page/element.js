/* SPDX-License-Identifier: BSD-2-Clause */
/* An element of the page, for both pages. */

function element(parent, name, text, className) {
	const e = document.createElement(name);
	if (text)
		e.textContent = text;
	if (className)
		e.className = className;
	parent.append(e);
	return e;
}
