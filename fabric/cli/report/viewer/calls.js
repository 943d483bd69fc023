/* SPDX-License-Identifier: MIT */
/*
 * Calls of recorded programs: columns, unpacked from the element "calls". Their times are the
 * fabric's, so that they stand between its packets; those of a trace that has no such time stand
 * in a ladder without packets.
 */

const CALL_FAILED = 1, CALL_INTO = 2, CALL_WR = 4;

function noCalls() {
	return { n: 0, base: 0, time: new Float64Array(0), programs: [] };
}

function noPackets() {
	return { about: { hosts: [], flows: [], texts: [], opcodes: [] }, n: 0, base: 0, time: new Float64Array(0),
		flow: [], frames: new Map() };
}

async function unpackCalls(report) {
	const about = object(report.calls), columns = JSON.parse(await unpackText(byId('calls').textContent));

	return {
		about,
		n: columns.time.length,
		base: number(columns.time[0]),
		time: packetTimes(columns.time),
		took: columns.took,
		program: Uint32Array.from(columns.program),
		name: Uint32Array.from(columns.name),
		text: Uint32Array.from(columns.text),
		qpn: Uint32Array.from(columns.qpn),
		flags: Uint8Array.from(columns.flags),
		request: columns.wr_id,
		programs: list(report.programs),
	};
}

function callText(calls, number) {
	return number ? text(calls.about.texts[number - 1]) : '';
}

function callProgram(calls, i) {
	return object(calls.programs[calls.program[i]]);
}

function callLabel(calls, i) {
	const what = callText(calls, calls.text[i]);

	return callText(calls, calls.name[i]) + (what ? `: ${what}` : '');
}

function callQpn(calls, i) {
	return calls.qpn[i] || undefined;
}

/* Calls on a time of their own cannot stand between packets and entries. */
function callsHaveLadder(report) {
	const calls = object(report.calls);

	return calls.count > 0 && (calls.clock === 'fabric' || (!object(report.packets).count && !list(report.journal).length));
}

/* Why the ladder leaves out packets or calls that the page has, or has none. */
function ladderHint(report) {
	const real = object(report.run).real || list(report.sources).some(s => s.kind === 'real trace');

	if (object(report.calls).count && !callsHaveLadder(report))
		return 'The calls are not between the packets and entries: their trace does not say what the fabric\'s time was.';
	if (object(report.packets).count)
		return '';
	if (real)
		return 'There are no packets: the programs used real devices, whose packets do not pass rdmaemu. ' +
			'A capture of the network, by ibdump(1) or a switch, can be given to rdmaemu report.';
	return report.calls ? 'There are no packets: the trace was recorded without --capture.' : '';
}

function showCallDetail(view, i) {
	const calls = view.calls, qpn = callQpn(calls, i), end = view.callTime(i);
	const near = view.entries.filter(e => qpn !== undefined && object(e.who).qpn === qpn &&
		Math.abs(number(e.ts) - end) < NEAR_NS).slice(0, NEAR_SHOWN);

	fill('detail', make('h3', {}, `${callText(calls, calls.name[i])}, call ${count(i + 1)}`), fieldList([
		['Time', `${seconds(end)} s`],
		['Took', duration(number(calls.took[i]))],
		['Program', programName(callProgram(calls, i))],
		['Queue pair', qpn === undefined ? '' : hex(qpn, 6)],
		['Work request', calls.flags[i] & CALL_WR ? `wr_id 0x${text(calls.request[i])}` : ''],
		['What', callText(calls, calls.text[i])],
		['Result', calls.flags[i] & CALL_FAILED ? 'failed' : ''],
	]), near.length ? [make('h4', {}, 'Journal'), make('ul', {}, near.map(entryItem))] : null);
}

/* --- drawing ---------------------------------------------------------------------------------- */

const CALL_ARROW = 28;

/* Left of the arrow, or where there is no room right of the lane. */
function drawCallLabel(view, c, label, x, y) {
	const left = x - CALL_ARROW - 6;

	if (left - c.measureText(label).width >= lanesLeft(view)) {
		c.textAlign = 'right';
		c.fillText(label, left, y + 4);
		return;
	}
	const room = view.width - x - 12, width = c.measureText(label).width;

	c.textAlign = 'left';
	c.fillText(width > room ? label.slice(0, Math.max(1, Math.floor(label.length * room / width) - 1)) + '\u2026' : label, x + 8, y + 4);
}

/* Into the lane: a program hands its device something. Out of it: it is told of something. */
function drawCall(view, c, i, y, labelled) {
	const calls = view.calls, x = laneX(view, view.callLane(i)), failed = calls.flags[i] & CALL_FAILED;

	c.strokeStyle = c.fillStyle = view.colours[failed ? 'bad' : 'text'];
	c.lineWidth = failed ? 2 : 1;
	if (calls.flags[i] & CALL_INTO)
		drawArrow(c, x - CALL_ARROW, x, y, false);
	else
		drawArrow(c, x, x - CALL_ARROW, y, false);
	if (labelled)
		drawCallLabel(view, c, callLabel(calls, i), x, y);
}
