/* SPDX-License-Identifier: MIT */
/* A selected packet or entry: its headers, bytes, and the journal's lines about it. */

/* Bytes of the extended headers of an opcode, and where in them the RETH or AtomicETH stands. */
function headerLayout(opcode) {
	const transport = opcode >> 5, op = opcode & 31;
	const datagram = transport === 3 ? 8 : 0, xrc = transport === 5 && (op < 13 || op > 18) ? 4 : 0;
	const layout = { before: datagram + xrc, reth: 0, atomic: 0, aeth: 0 };

	if (op === 6 || op === 10 || op === 11 || op === 12 || op === 28 || op === 29)
		layout.reth = 16;
	if (op === 19 || op === 20)
		layout.atomic = 28;
	if (op === 13 || op === 15 || op === 16 || op === 17 || op === 18)
		layout.aeth = 4;
	layout.flush = op === 28 ? 4 : 0;
	layout.immediate = [3, 5, 9, 11, 22, 23].includes(op) ? 4 : 0;
	layout.original = op === 18 ? 8 : 0;
	layout.all = layout.before + layout.reth + layout.atomic + layout.aeth + layout.flush +
		layout.immediate + layout.original;
	return layout;
}

function frameNumber(bytes, at, n) {
	return BigInt('0x' + (bytes.slice(2 * at, 2 * (at + n)) || '0'));
}

/* The memory that a request names: {va, key, length}, or null. */
function packetMemory(p, i) {
	const frame = p.frames.get(i), layout = headerLayout(p.opcode[i]);

	if (!frame || (!layout.reth && !layout.atomic))
		return null;
	const at = frame.payload - layout.all + layout.before + layout.flush;
	if (at < 12 || 2 * (at + 16) > frame.bytes.length)
		return null;
	return {
		va: frameNumber(frame.bytes, at, 8),
		key: Number(frameNumber(frame.bytes, at + 8, 4)),
		length: layout.reth ? Number(frameNumber(frame.bytes, at + 12, 4)) : 8,
	};
}

function frameDump(bytes) {
	const lines = [];

	for (let at = 0; at < bytes.length; at += 32) {
		const part = bytes.slice(at, at + 32);
		const pairs = part.match(/../g) || [];
		const ascii = pairs.map(b => {
			const code = parseInt(b, 16);

			return code >= 32 && code < 127 ? String.fromCharCode(code) : '.';
		}).join('');

		lines.push(`${(at / 2).toString(16).padStart(4, '0')}  ${pairs.join(' ').padEnd(48)} ${ascii}`);
	}
	return lines.join('\n');
}

function fieldList(fields) {
	return make('dl', { class: 'fields' }, fields.filter(f => f[1] !== '').map(
		([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}

const NEAR_NS = 1e6, NEAR_SHOWN = 10;

/* Entries about the packet's queue pairs at that moment: those with its PSN, or else all. */
function packetEntries(view, i) {
	const p = view.packets, flow = p.about.flows[p.flow[i]];
	const time = p.base + p.time[i];
	const qps = [flow.from_qpn, flow.to_qpn];
	const about = e => [object(e.who).qpn, object(e.peer).qpn].some(q => q !== undefined && qps.includes(q));

	const near = view.entries.filter(e => about(e) && Math.abs(number(e.ts) - time) < NEAR_NS);
	const exact = near.filter(e => e.psn === p.psn[i]);
	return (exact.length ? exact : near).slice(0, NEAR_SHOWN);
}

function entryItem(e) {
	const request = e.wr_id === undefined ? '' : `, wr_id ${text(e.wr_id)}`;

	return make('li', {}, `${seconds(e.ts)} ${text(e.status)} ${programName(e.who)} ${text(e.opcode)}${request}: ${text(e.text)}`,
		e.rule_text && !text(e.text).includes(e.rule_text) ? ` Rule ${text(e.rule_text)}` : null);
}

function showEntryDetail(e) {
	fill('detail', make('h3', {}, `${text(e.status)} ${text(e.opcode)}`), fieldList([
		['Time', `${seconds(e.ts)} s`],
		['Program', programName(e.who)],
		['Peer', programName(e.peer)],
		['Queue pair', object(e.who).qpn === undefined ? '' : hex(e.who.qpn, 6)],
		['Work request', e.wr_id === undefined ? '' : `wr_id ${text(e.wr_id)}`],
		['Why', text(e.text)],
		['Rule', text(e.rule_text)],
	]), make('pre', { tabindex: 0, 'aria-label': 'Journal entry' }, text(e.line)));
}

function packetFate(p, i) {
	const all = [];

	if (p.flags[i] & LOST)
		all.push('did not arrive');
	if (p.flags[i] & AGAIN)
		all.push('sent again');
	if (p.flags[i] & WRONG)
		all.push('malformed');
	return all.join(', ');
}

function showPacketDetail(view, i) {
	const p = view.packets, flow = p.about.flows[p.flow[i]], frame = p.frames.get(i);
	const memory = packetMemory(p, i), entries = packetEntries(view, i);
	const end = (host, qpn) => {
		const program = view.programOf(host, qpn);

		return hostName(p.about, host) + (qpn === undefined ? '' : `, QP ${hex(qpn, 6)}`) + (program ? `, ${program}` : '');
	};

	fill('detail', make('h3', {}, `${packetName(p, i)}, packet ${count(i + 1)}`), fieldList([
		['Time', `${seconds(p.base + p.time[i])} s`],
		['From', end(flow.from, flow.from_qpn)],
		['To', end(flow.to, flow.to_qpn)],
		['PSN', hex(p.psn[i], 6)],
		['Payload', p.size[i] ? `${count(p.size[i])} bytes` : ''],
		['Work request', packetWorkRequest(view, i)],
		['Memory', memory ? `${count(memory.length)} bytes at ${hex(memory.va)}, rkey ${hex(memory.key)}` : ''],
		['Fate', packetFate(p, i)],
		['Why', packetNote(p, i)],
	]),
	entries.length ? [make('h4', {}, 'Journal'), make('ul', {}, entries.map(entryItem))] : null,
	frame ? make('pre', { tabindex: 0, 'aria-label': 'First bytes of the frame' }, frameDump(frame.bytes))
		: make('p', { class: 'soft' }, 'The page does not have the bytes of this packet.'));
}
