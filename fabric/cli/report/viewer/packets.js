/* SPDX-License-Identifier: MIT */
/*
 * The packets of the report: columns, unpacked from the element "packets". Times are nanoseconds
 * since the first packet, which stay exact; `base` is the first one's time.
 */

const LOST = 1, WRONG = 2, AGAIN = 4;
const OP_ACK = 17;

async function unpackText(base64) {
	const raw = atob(base64);
	const bytes = new Uint8Array(raw.length);

	for (let i = 0; i < raw.length; i++)
		bytes[i] = raw.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Response(stream).text();
}

function packetTimes(deltas) {
	const times = new Float64Array(deltas.length);

	for (let i = 1; i < deltas.length; i++)
		times[i] = times[i - 1] + deltas[i];
	return times;
}

function packetSequence(deltas, flows, nFlows) {
	const psn = new Uint32Array(deltas.length), last = new Uint32Array(nFlows);

	for (let i = 0; i < deltas.length; i++)
		psn[i] = last[flows[i]] = (last[flows[i]] + deltas[i]) & 0xffffff;
	return psn;
}

function packetFrames(frames) {
	const at = new Map();

	for (const [row, payload, bytes] of frames)
		at.set(row, { payload, bytes });
	return at;
}

async function unpackPackets(about) {
	const columns = JSON.parse(await unpackText(byId('packets').textContent));
	const flow = Uint32Array.from(columns.flow);

	return {
		about,
		n: columns.time.length,
		base: number(columns.time[0]),
		time: packetTimes(columns.time),
		flow,
		psn: packetSequence(columns.psn, flow, about.flows.length),
		opcode: Uint8Array.from(columns.opcode),
		size: Uint32Array.from(columns.size),
		flags: Uint8Array.from(columns.flags),
		syndrome: Uint8Array.from(columns.syndrome),
		note: Uint32Array.from(columns.note),
		label: Uint32Array.from(columns.label),
		frames: packetFrames(columns.frames),
	};
}

function hostName(about, i) {
	const host = object(about.hosts[i]);

	return host.node ? `${host.node} (${host.address})` : text(host.address);
}

function packetIsResponse(p, i) {
	const op = p.opcode[i] & 31;

	return op >= 13 && op <= 18 && p.opcode[i] >> 5 !== 3 && p.opcode[i] >> 5 !== 4;
}

/* The upper bits of an AETH's syndrome: 0 ACK, 1 RNR NAK, 3 NAK. */
function packetNak(p, i) {
	return (p.opcode[i] & 31) === OP_ACK && p.opcode[i] >> 5 !== 4 ? p.syndrome[i] >> 5 & 3 : 0;
}

function packetIsBad(p, i) {
	return p.flags[i] !== 0 || packetNak(p, i) !== 0 ||
		(p.label[i] !== 0 && p.about.texts[p.label[i] - 1].startsWith('CM REJ'));
}

const NAKS = ['NAK sequence', 'NAK invalid request', 'NAK remote access', 'NAK remote operation'];

function packetName(p, i) {
	const nak = packetNak(p, i);

	if (p.label[i])
		return p.about.texts[p.label[i] - 1];
	if (nak === 1)
		return 'RNR NAK';
	if (nak)
		return NAKS[p.syndrome[i] & 31] || 'NAK';
	return text(p.about.opcodes[p.opcode[i] & 31]);
}

function packetLabel(p, i) {
	let label = `${packetName(p, i)} qp ${hex(number(p.about.flows[p.flow[i]].to_qpn))} psn ${hex(p.psn[i], 6)}`;

	if (p.size[i])
		label += `, ${p.size[i]} B`;
	if (p.flags[i] & LOST)
		label += ' - lost';
	else if (p.flags[i] & AGAIN)
		label += ' - again';
	return label;
}

function packetNote(p, i) {
	return p.note[i] ? p.about.texts[p.note[i] - 1] : '';
}

/* Connections: flows of both directions, and what their packets are. */
function packetConnections(p) {
	const all = new Map();

	for (let i = 0; i < p.n; i++) {
		const flow = p.about.flows[p.flow[i]];
		const key = flow.connection || `u${p.flow[i]}`;
		let c = all.get(key);

		if (!c) {
			c = { key: String(key), flow, packets: 0, bytes: 0, lost: 0, again: 0, naks: 0, rnr: 0 };
			all.set(key, c);
		}
		c.packets++;
		c.bytes += p.size[i];
		c.lost += p.flags[i] & LOST ? 1 : 0;
		c.again += p.flags[i] & AGAIN ? 1 : 0;
		c.rnr += packetNak(p, i) === 1 ? 1 : 0;
		c.naks += packetNak(p, i) > 1 ? 1 : 0;
	}
	return [...all.values()];
}

function connectionName(about, flow) {
	const from = flow.from_qpn === undefined ? '' : ` ${hex(flow.from_qpn)}`;

	return `${flow.transport} ${hostName(about, flow.from)}${from} \u2194 ${hostName(about, flow.to)} ${hex(flow.to_qpn)}`;
}
