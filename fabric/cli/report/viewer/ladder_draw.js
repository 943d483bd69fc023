/* SPDX-License-Identifier: MIT */
/*
 * Drawing the ladder: only what is in sight. The box scrolls an empty element of the ladder's
 * height, and the canvas in it stays in place; a height beyond what browsers can lay out is scaled.
 *
 * Where rows are closer than a pixel, of all arrows of a kind that share a line of pixels one is
 * drawn: a frame has at most as many as the canvas has lines, whatever the number of packets.
 */

const SCROLL_MAX = 8e6, LABEL_ROOM = 14, HEAD = 36, TIME_COLUMN = 92;

/* Where the lanes begin, after the times. */
function lanesLeft(view) {
	return view.width < 600 ? 76 : TIME_COLUMN;
}

function laneX(view, lane) {
	const left = lanesLeft(view);
	const n = view.lanes.length;

	return left + (view.width - left) * (lane + 0.5) / Math.max(1, n);
}

/* The first item at or after a position. */
function itemAt(view, y) {
	let low = 0, high = view.n;

	while (low < high) {
		const mid = low + high >> 1;

		if (view.pos[mid] < y)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* 0: request, 1: response, 2: sent again, 3: bad. */
function packetKind(p, i) {
	if (p.flags[i] & (LOST | WRONG) || packetNak(p, i))
		return 3;
	if (p.flags[i] & AGAIN)
		return 2;
	return packetIsResponse(p, i) ? 1 : 0;
}

const KIND_COLOURS = ['data', 'answer', 'again', 'bad'];

function drawArrow(c, from, to, y, lost) {
	const direction = from < to ? 1 : -1;
	const end = lost ? to - direction * Math.abs(to - from) / 4 : to;

	c.beginPath();
	c.setLineDash(lost ? [5, 3] : []);
	c.moveTo(from, y);
	c.lineTo(end, y);
	c.stroke();
	c.setLineDash([]);
	c.beginPath();
	if (lost) {
		c.moveTo(end - 4, y - 4);
		c.lineTo(end + 4, y + 4);
		c.moveTo(end + 4, y - 4);
		c.lineTo(end - 4, y + 4);
		c.stroke();
	} else {
		c.moveTo(end, y);
		c.lineTo(end - direction * 7, y - 3.5);
		c.lineTo(end - direction * 7, y + 3.5);
		c.fill();
	}
}

/* A text around x, cut and moved so that it stays right of the times. */
function drawCentred(view, c, label, x, y, room) {
	const width = c.measureText(label).width;

	if (width > room)
		label = label.slice(0, Math.max(1, Math.floor(label.length * room / width) - 1)) + '\u2026';
	const half = c.measureText(label).width / 2;
	c.textAlign = 'center';
	c.fillText(label, Math.max(lanesLeft(view) + half, Math.min(x, view.width - 4 - half)), y);
}

function drawPacket(view, c, i, y, labelled) {
	const p = view.packets, flow = p.about.flows[p.flow[i]];
	const from = laneX(view, view.laneOf(flow.from, flow.from_qpn)), to = laneX(view, view.laneOf(flow.to, flow.to_qpn));
	const kind = packetKind(p, i), colour = view.colours[KIND_COLOURS[kind]];

	c.strokeStyle = c.fillStyle = colour;
	c.lineWidth = kind > 1 ? 2 : 1;
	if (from === to) {
		c.beginPath();
		c.arc(from, y, 3, 0, 7);
		c.stroke();
	} else {
		drawArrow(c, from, to, y, p.flags[i] & LOST);
	}
	if (!labelled)
		return;
	drawCentred(view, c, packetLabel(p, i) + (p.note[i] && view.width > 600 ? ` (${packetNote(p, i)})` : ''),
		(from + to) / 2, y - 3, view.width - lanesLeft(view) - 8);
}

function drawEntry(view, c, e, y, labelled) {
	const x = laneX(view, view.entryLane(e));

	c.fillStyle = view.colours[e.severity === 'error' ? 'bad' : 'mark'];
	c.beginPath();
	c.moveTo(x, y - 5);
	c.lineTo(x + 5, y);
	c.lineTo(x, y + 5);
	c.lineTo(x - 5, y);
	c.fill();
	if (!labelled)
		return;
	drawCentred(view, c, `\u25c6 ${[e.status, e.text].map(text).filter(Boolean).join(': ')}`, x, y - 4,
		view.width - lanesLeft(view) - 8);
}

function drawTime(view, c, k, y) {
	c.fillStyle = view.colours.soft;
	c.textAlign = 'left';
	c.fillText(seconds(view.itemTime(k)), 4, y + 4);
}

/* A pause that is folded: named between its ends. */
function drawFold(view, c, k, y) {
	const gap = k ? view.itemTime(k) - view.itemTime(k - 1) : 0;

	if (view.pos[k] - (k ? view.pos[k - 1] : 0) < FOLD_PIXELS)
		return;
	c.fillStyle = view.colours.soft;
	c.textAlign = 'left';
	c.fillText(`\u22ee ${duration(gap)}`, 4, y - FOLD_PIXELS / 2 + 4);
}

function drawHead(view, c) {
	c.fillStyle = view.colours.page;
	c.fillRect(0, 0, view.width, HEAD);
	c.fillStyle = view.colours.text;
	const room = (view.width - lanesLeft(view)) / Math.max(1, view.lanes.length) - 6;
	view.lanes.forEach((name, lane) => drawCentred(view, c, name, laneX(view, lane), 15, room));
	c.strokeStyle = view.colours.line;
	c.beginPath();
	c.moveTo(0, HEAD - 12.5);
	c.lineTo(view.width, HEAD - 12.5);
	c.stroke();
}

function drawLanes(view, c) {
	c.strokeStyle = view.colours.line;
	c.lineWidth = 1;
	for (let lane = 0; lane < view.lanes.length; lane++) {
		const x = Math.round(laneX(view, lane)) + 0.5;

		c.beginPath();
		c.moveTo(x, HEAD);
		c.lineTo(x, view.height);
		c.stroke();
	}
}

function drawSelected(view, c, y) {
	c.fillStyle = view.colours.panel;
	c.fillRect(0, y - 12, view.width, 18);
}

/* Items in sight. Those of a kind that would fall into one line of pixels are drawn once. */
function drawItems(view, c, top) {
	const p = view.packets, first = itemAt(view, top - 20);
	const drawn = new Map();
	let lastLabel = -LABEL_ROOM, drawnItems = 0;

	for (let k = first; k < view.n && view.pos[k] <= top + view.height; k++) {
		const y = Math.round(view.pos[k] - top + HEAD) + 0.5, item = view.items[k];
		const entry = item < 0 ? view.entryOf(item) : undefined, call = view.callOf(item);
		const key = item >= 0 ? p.flow[item] * 4 + packetKind(p, item) : entry ? -1 : -2 - view.calls.program[call];

		if (k === view.selected)
			drawSelected(view, c, y);
		else if (drawn.get(key) === y)
			continue;
		drawn.set(key, y);
		const labelled = y - lastLabel >= LABEL_ROOM;
		if (item >= 0)
			drawPacket(view, c, item, y, labelled);
		else if (entry)
			drawEntry(view, c, entry, y, labelled);
		else
			drawCall(view, c, call, y, labelled);
		if (labelled) {
			drawTime(view, c, k, y);
			lastLabel = y;
		}
		drawFold(view, c, k, y);
		drawnItems++;
	}
	return drawnItems;
}

function drawLadder(view) {
	const canvas = byId('ladder-canvas');
	const c = canvasContext(canvas);

	view.width = canvas.clientWidth;
	view.height = canvas.clientHeight;
	c.font = '12px ui-monospace, monospace';
	drawLanes(view, c);
	view.drawn = drawItems(view, c, view.top());
	drawHead(view, c);
}
