/* SPDX-License-Identifier: MIT */
/*
 * The ladder: which packets, calls and entries it has, where they stand, and how it is used. An
 * item is a packet's number, or negative: -1 - n for entry n, and those of calls after them.
 *
 * The height of a row is the zoom. The pause before an item is drawn in proportion to it, where the
 * median of all pauses is a row, but takes at least a row and at most FOLD_PIXELS more.
 */

const LANES_MAX = 8; /* where lanes are no hosts */
const FOLD_PIXELS = 40, ROW_MIN = 0.005, ROW_MAX = 40, ROW_FIRST = 20;

function ladderView(report, packets, calls) {
	const p = packets, entries = list(report.journal).filter(e => Number.isFinite(e.ts));
	const programs = queuePairPrograms(report, calls);
	const view = {
		report, packets, calls, entries, row: ROW_FIRST, selected: -1, n: 0, drawn: 0, filter: {},
		lanes: [], laneOf: () => 0, colours: colours(), width: 0, height: 0, items: new Int32Array(0), pos: new Float64Array(0),
		scale: 1,
	};

	view.entryOf = item => -1 - item < entries.length ? entries[-1 - item] : undefined;
	view.callOf = item => -1 - item - entries.length;
	view.callTime = i => calls.base + calls.time[i];
	view.timeOf = item => {
		if (item >= 0)
			return p.base + p.time[item];
		const e = view.entryOf(item);
		return e ? number(e.ts) : view.callTime(view.callOf(item));
	};
	view.itemTime = k => view.timeOf(view.items[k]);
	view.top = () => byId('ladder-box').scrollTop * view.scale;
	view.programOf = (host, qpn) => programs.get(`${text(object(p.about.hosts[host]).node)} ${text(qpn)}`) || '';
	/* The lane of a program, or that of its node. */
	view.whoLane = (who, qpn) => {
		const own = view.lanes.indexOf(programName(who));
		const host = p.about.hosts.findIndex(h => h.node !== undefined && h.node === who.node);

		return own >= 0 ? own : host < 0 ? 0 : view.laneOf(host, qpn);
	};
	view.entryLane = e => view.whoLane(object(e.who), object(e.who).qpn);
	view.callLane = i => view.whoLane(callProgram(calls, i), callQpn(calls, i));
	return view;
}

/* Programs by "NODE QPN", as the journal, the status and traces name them. */
function queuePairPrograms(report, calls) {
	const all = new Map();
	const know = who => {
		if (who.qpn !== undefined && who.name)
			all.set(`${text(who.node)} ${who.qpn}`, programName(who));
	};

	for (const q of list(object(report.status).qps))
		know(object(q));
	for (const e of list(report.journal)) {
		know(object(e.who));
		know(object(e.peer));
	}
	for (let i = 0; i < calls.n; i++)
		if (calls.qpn[i])
			all.set(`${text(callProgram(calls, i).node)} ${calls.qpn[i]}`, programName(callProgram(calls, i)));
	return all;
}

/* --- which items ------------------------------------------------------------------------------ */

function flowIsWanted(view, flow, index) {
	const f = view.filter;

	if (f.connection && String(flow.connection || `u${index}`) !== f.connection)
		return false;
	if (f.qp !== undefined && flow.from_qpn !== f.qp && flow.to_qpn !== f.qp)
		return false;
	return !f.program || view.programOf(flow.from, flow.from_qpn) === f.program ||
		view.programOf(flow.to, flow.to_qpn) === f.program;
}

function packetIsWanted(view, i) {
	const f = view.filter;

	if (f.opcode && packetName(view.packets, i) !== f.opcode)
		return false;
	return !f.bad || packetIsBad(view.packets, i);
}

function entryIsWanted(view, e) {
	const f = view.filter, sides = [object(e.who), object(e.peer)];

	if (!f.journal || f.opcode)
		return false;
	if (f.program && !sides.some(s => programName(s) === f.program))
		return false;
	if (f.qp !== undefined)
		return sides.some(s => s.qpn === f.qp);
	return !f.connection || sides.some(s => view.connectionQps.has(s.qpn));
}

function callIsWanted(view, i) {
	const f = view.filter, calls = view.calls;

	if (!f.calls || f.opcode || (f.bad && !(calls.flags[i] & CALL_FAILED)))
		return false;
	if (f.program && programName(callProgram(calls, i)) !== f.program)
		return false;
	if (f.qp !== undefined)
		return calls.qpn[i] === f.qp;
	return !f.connection || view.connectionQps.has(calls.qpn[i]);
}

/*
 * What a lane stands for, by a packet's end: its host; if all are of one host its program, else its
 * queue pair.
 */
function laneNames(view) {
	const host = h => hostName(view.packets.about, h);

	return [
		host,
		(h, qpn) => view.programOf(h, qpn) || host(h),
		(h, qpn) => qpn === undefined ? host(h) : `qp ${hex(qpn)}`,
	];
}

/* Programs that are on no host of the packets have lanes of their own. */
function lanesOfPrograms(view) {
	const hosts = new Set(view.packets.about.hosts.map(h => h.node));
	const programs = view.calls.programs.concat(view.packets.n ? [] : view.entries.map(e => object(e.who)));

	return [...new Set(programs.filter(p => p.name && !hosts.has(p.node)).map(programName))].slice(0, LANES_MAX);
}

function setLanes(view, flows) {
	const ends = view.packets.about.flows.filter((flow, i) => flows[i])
		.flatMap(f => [[f.from, f.from_qpn], [f.to, f.to_qpn]]).sort((a, b) => a[0] - b[0]);
	const choices = laneNames(view).map(name => ({ name, lanes: [...new Set(ends.map(end => name(...end)))] }));
	const { name, lanes } = choices[0].lanes.length > 1 ? choices[0] :
		choices.find(c => c.lanes.length > 1 && c.lanes.length <= LANES_MAX) || choices[0];

	view.lanes = lanes.concat(lanesOfPrograms(view));
	view.laneOf = (host, qpn) => Math.max(0, lanes.indexOf(name(host, qpn)));
}

/* Entries and calls in the order of time. */
function otherItems(view) {
	const items = view.entries.map((e, i) => -1 - i).filter(item => entryIsWanted(view, view.entryOf(item)));

	for (let i = 0; i < view.calls.n; i++)
		if (callIsWanted(view, i))
			items.push(-1 - view.entries.length - i);
	return items.sort((a, b) => view.timeOf(a) - view.timeOf(b));
}

/* All items in the order of time. */
function setItems(view) {
	const p = view.packets, flows = p.about.flows.map((flow, i) => flowIsWanted(view, flow, i));

	view.connectionQps = new Set();
	p.about.flows.forEach((flow, i) => {
		if (flows[i])
			view.connectionQps.add(flow.from_qpn).add(flow.to_qpn);
	});
	view.connectionQps.delete(undefined);
	const others = otherItems(view), items = new Int32Array(p.n + others.length);
	let n = 0, e = 0;

	for (let i = 0; i < p.n; i++) {
		for (; e < others.length && view.timeOf(others[e]) <= p.base + p.time[i]; e++)
			items[n++] = others[e];
		if (flows[p.flow[i]] && packetIsWanted(view, i))
			items[n++] = i;
	}
	for (; e < others.length; e++)
		items[n++] = others[e];
	view.items = items;
	view.n = n;
	setLanes(view, flows);
}

/* --- where they stand ------------------------------------------------------------------------- */

function medianPause(view) {
	const some = [], step = Math.max(1, Math.floor(view.n / 1000));

	for (let k = step; k < view.n; k += step)
		some.push((view.itemTime(k) - view.itemTime(k - step)) / step);
	some.sort((a, b) => a - b);
	return some[some.length >> 1] || 1;
}

function placeItems(view) {
	const median = medianPause(view), pos = new Float64Array(view.n);
	let y = view.row;

	for (let k = 0; k < view.n; k++) {
		const pause = k ? Math.max(0, view.itemTime(k) - view.itemTime(k - 1)) : 0;
		const wanted = pause / median * view.row;

		y += k ? Math.min(Math.max(wanted, view.row), view.row + FOLD_PIXELS) : 0;
		pos[k] = y;
	}
	view.pos = pos;
	const height = y + view.row + byId('ladder-box').clientHeight / 2;
	view.scale = Math.max(1, height / SCROLL_MAX);
	byId('ladder-space').style.height = `${height / view.scale}px`;
}

function showItems(view) {
	setItems(view);
	view.selected = -1;
	placeItems(view);
	byId('ladder-box').scrollTop = 0;
	byId('ladder-count').textContent = `${plural(view.n, 'item')} of ` +
		`${plural(view.packets.n, 'packet')}${view.calls.n ? `, ${plural(view.calls.n, 'call')}` : ''} and ` +
		`${plural(view.entries.length, 'entry', 'entries')}`;
	drawLadder(view);
}

/* --- use -------------------------------------------------------------------------------------- */

function scrollToItem(view, k) {
	const box = byId('ladder-box');
	const y = view.pos[k] - view.top();

	if (y < 20 || y > box.clientHeight - HEAD - 20)
		box.scrollTop = Math.max(0, view.pos[k] - box.clientHeight / 2) / view.scale;
}

function selectItem(view, k) {
	if (k < 0 || k >= view.n)
		return;
	view.selected = k;
	scrollToItem(view, k);
	const item = view.items[k];
	if (item >= 0)
		showPacketDetail(view, item);
	else if (view.entryOf(item))
		showEntryDetail(view.entryOf(item));
	else
		showCallDetail(view, view.callOf(item));
	drawLadder(view);
}

function itemIsTrouble(view, k) {
	const item = view.items[k];

	if (item >= 0)
		return packetIsBad(view.packets, item);
	const e = view.entryOf(item);
	return e ? e.severity === 'error' : (view.calls.flags[view.callOf(item)] & CALL_FAILED) !== 0;
}

function selectTrouble(view) {
	for (let k = view.selected + 1; k < view.n; k++)
		if (itemIsTrouble(view, k))
			return selectItem(view, k);
	for (let k = 0; k < view.selected; k++)
		if (itemIsTrouble(view, k))
			return selectItem(view, k);
}

/* Zoom, and keep what stands at y of the box where it is. */
function zoomLadder(view, factor, y) {
	const box = byId('ladder-box');
	const k = Math.min(view.n - 1, itemAt(view, view.top() + y - HEAD));
	const offset = k < 0 ? 0 : view.pos[k] - view.top();

	view.row = Math.min(ROW_MAX, Math.max(ROW_MIN, view.row * factor));
	placeItems(view);
	if (k >= 0)
		box.scrollTop = (view.pos[k] - offset) / view.scale;
	drawLadder(view);
}

function ladderKey(view, event) {
	const middle = byId('ladder-box').clientHeight / 2;
	const keys = {
		ArrowDown: () => selectItem(view, view.selected < 0 ? itemAt(view, view.top()) : view.selected + 1),
		ArrowUp: () => selectItem(view, view.selected - 1),
		Home: () => selectItem(view, 0),
		End: () => selectItem(view, view.n - 1),
		n: () => selectTrouble(view),
		'+': () => zoomLadder(view, 1.5, middle),
		'=': () => zoomLadder(view, 1.5, middle),
		'-': () => zoomLadder(view, 1 / 1.5, middle),
	};

	if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key])
		return;
	event.preventDefault();
	keys[event.key]();
}

/* The item next to a point of the canvas. */
function ladderClick(view, event) {
	const y = view.top() + event.clientY - byId('ladder-canvas').getBoundingClientRect().top - HEAD;
	const k = itemAt(view, y);
	const before = k && (k === view.n || y - view.pos[k - 1] < view.pos[k] - y) ? k - 1 : k;

	selectItem(view, before);
}

/* Drag to pan. */
function ladderPan(box) {
	let from = null;

	box.addEventListener('pointerdown', e => {
		from = e.pointerType === 'mouse' && e.button === 0 && e.offsetX < box.clientWidth ? { y: e.clientY, top: box.scrollTop } : null;
	});
	box.addEventListener('pointermove', e => {
		if (from && e.buttons & 1)
			box.scrollTop = from.top + from.y - e.clientY;
	});
}

function fillSelect(id, first, values) {
	byId(id).replaceChildren(make('option', { value: '' }, first),
		...values.map(([value, name]) => make('option', { value }, name)));
}

function packetNames(p) {
	const names = new Set();

	for (let i = 0; i < p.n; i++)
		names.add(packetName(p, i));
	return [...names].sort();
}

function readFilter(view) {
	const qp = byId('f-qp').value.trim();
	const n = Number(qp);

	view.filter = {
		connection: byId('f-conn').value,
		program: byId('f-prog').value,
		opcode: byId('f-op').value,
		qp: qp && Number.isInteger(n) ? n : undefined,
		bad: byId('f-bad').checked,
		journal: byId('f-journal').checked,
		calls: byId('f-calls').checked,
	};
	showItems(view);
}

function listenLadder(view) {
	const box = byId('ladder-box');
	let waiting = false;

	box.addEventListener('scroll', () => {
		if (!waiting)
			requestAnimationFrame(() => {
				waiting = false;
				drawLadder(view);
			});
		waiting = true;
	}, { passive: true });
	box.addEventListener('wheel', e => {
		if (!e.ctrlKey)
			return;
		e.preventDefault();
		zoomLadder(view, e.deltaY < 0 ? 1.25 : 1 / 1.25, e.clientY - box.getBoundingClientRect().top);
	}, { passive: false });
	box.addEventListener('keydown', e => ladderKey(view, e));
	box.addEventListener('click', e => ladderClick(view, e));
	ladderPan(box);
	byId('zoom-in').addEventListener('click', () => zoomLadder(view, 1.5, box.clientHeight / 2));
	byId('zoom-out').addEventListener('click', () => zoomLadder(view, 1 / 1.5, box.clientHeight / 2));
	byId('next-bad').addEventListener('click', () => selectTrouble(view));
	byId('ladder-form').addEventListener('submit', e => e.preventDefault());
	byId('ladder-form').addEventListener('change', () => readFilter(view));
	byId('f-qp').addEventListener('input', () => readFilter(view));
}

function showLadder(report, p, calls, connections) {
	const view = ladderView(report, p, calls);
	const programs = new Set(calls.programs.map(programName).concat(p.about.flows.flatMap(f => [view.programOf(f.from, f.from_qpn), view.programOf(f.to, f.to_qpn)])));

	fillSelect('f-conn', 'all', connections.slice(0, 1000).map(c => [c.key, connectionName(p.about, c.flow)]));
	fillSelect('f-prog', 'all', [...programs].filter(Boolean).sort().map(x => [x, x]));
	fillSelect('f-op', 'all', packetNames(p).map(x => [x, x]));
	listenLadder(view);
	readFilter(view);
	keepDrawn(() => {
		view.colours = colours();
		drawLadder(view);
	});
	return view;
}
