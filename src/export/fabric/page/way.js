/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of a packet by LID, as the forwarding tables lead it. IBA 18.2.4. Ports are rows: the peer's number or -1, LID,
 * LMC, state, number of the link or -1, bytes sent, load, rate, subnet. */

const PEER = 0, LID = 1, LMC = 2, STATE = 3, LINK = 4, SENT = 5, LOAD = 6, RATE = 7, SUBNET = 8;
const HOST = 0, SWITCH = 1;
const STATES = ["", "DOWN", "INIT", "ARMED", "ACTIVE"];
const ARMED = 3, LINKS_MAX = 64, NO_PORT = 255;

class Fabric {
	/* nodes: rows of name, kind, number of port 0, ports, forwarding table in hexadecimal digits. */
	constructor(data) {
		this.ports = data.ports;
		this.nodes = data.nodes.map(([name, kind, first, count, table]) => ({name, kind, first, count, table}));
		this.owner = new Array(this.ports.length);
		this.nodes.forEach((n, i) => {
			for (let p = 0; p <= n.count; p++)
				this.owner[n.first + p] = i;
		});
		this.byName = new Map(this.nodes.map((n, i) => [n.name, i]));
	}

	name(port) {
		const n = this.nodes[this.owner[port]];
		return `${n.name} port ${port - n.first}`;
	}

	/* The first port with an active link, else the first one with a cable. */
	portOf(node) {
		const n = this.nodes[node];
		if (n.kind === SWITCH)
			return n.first;
		const all = Array.from({length: n.count}, (_, i) => n.first + 1 + i);
		return all.find((p) => this.ports[p][STATE] === 4) ?? all.find((p) => this.ports[p][PEER] >= 0) ?? all[0];
	}

	has(port, lid) {
		const p = this.ports[port];
		return p[LID] > 0 && lid >= p[LID] && lid < p[LID] + (1 << p[LMC]);
	}

	/* The port by which a switch sends on to a LID; undefined: none. */
	next(node, lid) {
		const out = parseInt(node.table.slice(2 * lid, 2 * lid + 2) || "ff", 16);
		return out === NO_PORT || out > node.count ? undefined : node.first + out;
	}

	/* Links as pairs of ports, and where it ends: "" is at the destination. */
	way(from, to) {
		const links = [], source = this.portOf(from), target = this.portOf(to), lid = this.ports[target][LID];
		if (this.nodes[from].kind === SWITCH)
			return {links, end: "Packets of data begin at adapters."};
		if (!lid)
			return {links, end: "The destination has no LID yet."};
		if (this.ports[source][SUBNET] !== this.ports[target][SUBNET])
			return {links, end: "It is in another subnet: verbena fabric show --route knows the way."};
		for (let out = source; links.length < LINKS_MAX;) {
			const peer = this.ports[out][PEER];
			if (from === to)
				return {links, end: ""};
			if (peer < 0 || this.ports[out][STATE] < ARMED || this.ports[peer][STATE] < ARMED)
				return {links, end: `It ends at ${this.name(out)}: the link is ${STATES[this.ports[out][STATE]] || "not there"}.`};
			links.push([out, peer]);
			const node = this.nodes[this.owner[peer]];
			if (node.kind !== SWITCH)
				return {links, end: peer === target ? "" : `It ends at ${this.name(peer)}.`};
			out = this.next(node, lid);
			if (out === undefined || out === peer)
				return {links, end: `It ends at ${this.name(peer)}: the forwarding table has no way on for LID ${lid}.`};
			if (out === node.first)
				return {links, end: this.has(out, lid) ? "" : `It ends at ${node.name}.`};
		}
		return {links, end: "It goes in a circle."};
	}
}
