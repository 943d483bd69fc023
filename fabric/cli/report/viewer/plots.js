/* SPDX-License-Identifier: MIT */
/* Rates over time, latencies, sequence numbers. Each plot has its numbers as a table, too. */

const PLOT_LEFT = 56, PLOT_BOTTOM = 22, PLOT_TOP = 8, PLOT_RIGHT = 8;

/* A step of 1, 2 or 5 of a power of ten that divides a range into at most n parts. */
function niceStep(range, n) {
	const power = 10 ** Math.floor(Math.log10(range / n || 1));

	for (const factor of [1, 2, 5, 10])
		if (range / (power * factor) <= n)
			return power * factor;
	return 10 * power;
}

function drawAxes(c, plot, width, height, X, Y) {
	const yStep = niceStep(plot.yMax, 4);

	c.font = '11px ui-monospace, monospace';
	c.strokeStyle = plot.colours.line;
	c.fillStyle = plot.colours.soft;
	c.lineWidth = 1;
	c.textAlign = 'right';
	for (let v = 0; v <= plot.yMax; v += yStep) {
		const y = Math.round(Y(v)) + 0.5;

		c.beginPath();
		c.moveTo(PLOT_LEFT, y);
		c.lineTo(width - PLOT_RIGHT, y);
		c.stroke();
		c.fillText(plot.yText(v), PLOT_LEFT - 4, y + 4);
	}
	c.textAlign = 'center';
	const ticks = Math.max(2, Math.floor(width / 120));
	for (let i = 0; i <= ticks; i++) {
		const v = plot.xMin + (plot.xMax - plot.xMin) * i / ticks;

		c.textAlign = i === ticks ? 'right' : i ? 'center' : 'left';
		c.fillText(plot.xText(v), X(v), height - 6);
	}
}

/* plot: xMin, xMax, yMax, xText, yText, draw(c, X, Y, colours), label, legend, rows of a table. */
function drawPlot(canvas, plot) {
	const c = canvasContext(canvas), width = canvas.clientWidth, height = canvas.clientHeight;
	const X = v => PLOT_LEFT + (width - PLOT_LEFT - PLOT_RIGHT) * (v - plot.xMin) / (plot.xMax - plot.xMin || 1);
	const Y = v => height - PLOT_BOTTOM - (height - PLOT_BOTTOM - PLOT_TOP) * v / (plot.yMax || 1);

	plot.colours = colours();
	drawAxes(c, plot, width, height, X, Y);
	plot.draw(c, X, Y, plot.colours);
}

function plotElement(plot) {
	const canvas = make('canvas', { class: 'plot', role: 'img', 'aria-label': plot.label });
	const legend = make('div', { class: 'legend' }, plot.legend.map(
		([name, colour]) => make('span', { style: `--c: var(--${colour})` }, name)));

	requestAnimationFrame(() => keepDrawn(() => {
		if (canvas.isConnected)
			drawPlot(canvas, plot);
	}));
	return make('figure', { style: 'margin: 0' }, make('figcaption', { class: 'soft' }, plot.label), canvas, legend,
		plot.columns ? make('details', {}, make('summary', {}, 'As a table'),
			table(plot.label, plot.columns, plot.rows)) : null);
}

/* --- rates ------------------------------------------------------------------------------------ */

const RATE_BINS = 120;

function rateBins(p) {
	const span = Math.max(p.time[p.n - 1], 1), bins = [];

	for (let b = 0; b < RATE_BINS; b++)
		bins.push({ begin: span * b / RATE_BINS, bytes: 0, packets: 0, lost: 0, again: 0 });
	for (let i = 0; i < p.n; i++) {
		const bin = bins[Math.min(RATE_BINS - 1, Math.floor(p.time[i] * RATE_BINS / span))];

		bin.packets++;
		bin.bytes += p.size[i];
		bin.lost += p.flags[i] & LOST ? 1 : 0;
		bin.again += p.flags[i] & AGAIN ? 1 : 0;
	}
	return { bins, seconds: span / RATE_BINS / 1e9, span };
}

function drawBars(c, X, Y, bins, value, colour) {
	c.fillStyle = colour;
	for (let b = 0; b < bins.length; b++) {
		const v = value(bins[b]);
		const x = X(bins[b].begin), next = b + 1 < bins.length ? X(bins[b + 1].begin) : x + 2;

		if (v > 0)
			c.fillRect(x, Y(v), Math.max(1, next - x - 0.5), Y(0) - Y(v));
	}
}

function ratePlot(rates, name, value, label, colour) {
	return plotElement({
		label, xMin: 0, xMax: rates.span, yMax: Math.max(...rates.bins.map(value), 1), legend: [[name, colour]],
		xText: v => `${(v / 1e9).toPrecision(3)} s`, yText: scaled,
		draw: (c, X, Y, all) => drawBars(c, X, Y, rates.bins, value, all[colour]),
		columns: [['From, s', 'num', b => seconds(b.begin)], [name, 'num', b => scaled(value(b))]],
		rows: rates.bins.filter(b => value(b) > 0),
	});
}

function showRates(p) {
	const rates = rateBins(p);

	fill('rates-plot',
		ratePlot(rates, 'payload', b => b.bytes / rates.seconds, 'Bytes of payload per second', 'data'),
		ratePlot(rates, 'packets', b => b.packets / rates.seconds, 'Packets per second', 'answer'),
		rates.bins.some(b => b.lost + b.again)
			? ratePlot(rates, 'lost or sent again', b => b.lost + b.again, 'Packets that were lost or sent again', 'bad') : null);
}

/* --- latencies -------------------------------------------------------------------------------- */

/* Opposite flows by connection: a response answers the other flow's request. */
function oppositeFlows(about) {
	const byConnection = new Map();

	about.flows.forEach((f, i) => {
		if (f.connection)
			byConnection.set(f.connection, (byConnection.get(f.connection) || []).concat(i));
	});
	const opposite = [];
	for (const flows of byConnection.values())
		if (flows.length === 2) {
			opposite[flows[0]] = flows[1];
			opposite[flows[1]] = flows[0];
		}
	return opposite;
}

/* Times from a request, sent for the last time, to the answer with its PSN: by opcode. */
function packetLatencies(p) {
	const opposite = oppositeFlows(p.about), waiting = p.about.flows.map(() => new Map());
	const all = new Map();

	for (let i = 0; i < p.n; i++) {
		if (p.flags[i] & LOST || packetNak(p, i))
			continue;
		if (!packetIsResponse(p, i)) {
			waiting[p.flow[i]].set(p.psn[i], i);
			continue;
		}
		const requests = waiting[opposite[p.flow[i]]];
		const request = requests ? requests.get(p.psn[i]) : undefined;

		if (request === undefined)
			continue;
		requests.delete(p.psn[i]);
		const name = packetName(p, request);
		if (!all.has(name))
			all.set(name, []);
		all.get(name).push(p.time[i] - p.time[request]);
	}
	return all;
}

/* A histogram with four buckets for each power of two. */
function latencyBuckets(times) {
	const buckets = new Map();

	for (const ns of times) {
		const b = Math.floor(Math.log2(Math.max(ns, 1)) * 4);

		buckets.set(b, (buckets.get(b) || 0) + 1);
	}
	return [...buckets].sort((a, b) => a[0] - b[0]).map(([b, n]) => [2 ** (b / 4), n]);
}

function latencyPlot(label, buckets) {
	const first = Math.log2(Math.max(buckets[0][0], 1)), last = Math.log2(Math.max(buckets[buckets.length - 1][0], 1));

	return plotElement({
		label, xMin: first - 0.5, xMax: last + 0.75, yMax: Math.max(...buckets.map(b => b[1])), legend: [['number', 'data']],
		xText: v => duration(2 ** v), yText: scaled,
		draw: (c, X, Y, all) => {
			c.fillStyle = all.data;
			for (const [ns, n] of buckets) {
				const x = Math.log2(Math.max(ns, 1));

				c.fillRect(X(x), Y(n), Math.max(2, X(x + 0.25) - X(x) - 1), Y(0) - Y(n));
			}
		},
		columns: [['From', 'num', b => duration(b[0])], ['Number', 'num', b => count(b[1])]],
		rows: buckets,
	});
}

function showPacketLatencies(p) {
	const plots = [];

	for (const [name, times] of packetLatencies(p))
		plots.push(latencyPlot(`${name}: from the packet to its answer, ${plural(times.length, 'packet')}`, latencyBuckets(times)));
	return plots;
}

/* Of recorded programs: from the post to the completion. Their buckets are joined to four a power of two. */
function programLatencies(report) {
	const plots = [];

	for (const program of list(report.programs))
		for (const [opcode, l] of Object.entries(object(program.latency))) {
			const joined = new Map();

			for (const [ns, n] of list(l.buckets)) {
				const b = Math.floor(Math.log2(Math.max(ns, 1)) * 4);

				joined.set(b, (joined.get(b) || 0) + n);
			}
			if (joined.size)
				plots.push(latencyPlot(`${programName(program)} ${opcode}: from post to completion, ` +
					`median ${duration(number(l.p50_ns))}, 99 % below ${duration(number(l.p99_ns))}`,
				[...joined].map(([b, n]) => [2 ** (b / 4), n])));
		}
	return plots;
}

function showLatencies(plots) {
	byId('latency-plot').append(...plots);
}

/* --- sequence numbers ------------------------------------------------------------------------- */

/* Requests of a flow, and the answers of the other one, relative to its first PSN. */
function sequencePoints(p, flow, opposite) {
	const requests = [], answers = [];
	let first = -1;

	for (let i = 0; i < p.n; i++) {
		const request = p.flow[i] === flow && !packetIsResponse(p, i);
		const answer = p.flow[i] === opposite && packetIsResponse(p, i);

		if (!request && !answer)
			continue;
		if (first < 0)
			first = p.psn[i];
		/* An answer may be to a request before the capture. */
		const psn = (p.psn[i] - first + 0x800000 & 0xffffff) - 0x800000;
		(request ? requests : answers).push([p.time[i], psn, i]);
	}
	return { requests, answers };
}

function dot(c, x, y, colour, size) {
	c.fillStyle = colour;
	c.fillRect(x - size / 2, y - size / 2, size, size);
}

function drawSequence(c, X, Y, all, p, points) {
	c.strokeStyle = all.answer;
	c.beginPath();
	for (const [time, psn, i] of points.answers)
		if (!packetNak(p, i))
			c.lineTo(X(time), Y(Math.max(0, psn)));
	c.stroke();
	for (const [time, psn, i] of points.requests) {
		const kind = packetKind(p, i);

		dot(c, X(time), Y(Math.max(0, psn)), all[KIND_COLOURS[kind]], kind ? 5 : 2);
	}
	for (const [time, psn, i] of points.answers)
		if (packetNak(p, i))
			dot(c, X(time), Y(Math.max(0, psn)), all.mark, 6);
}

function showSequenceOf(p, flow, opposite) {
	const points = sequencePoints(p, flow, opposite), both = points.requests.concat(points.answers);
	const psn = both.reduce((most, x) => Math.max(most, x[1]), 1);
	const begin = both.reduce((least, x) => Math.min(least, x[0]), Infinity), end = both.reduce((most, x) => Math.max(most, x[0]), 0);

	fill('sequence-plot', plotElement({
		label: `PSN over time: ${plural(points.requests.length, 'request')}, ${plural(points.answers.length, 'answer')}`,
		xMin: begin, xMax: end, yMax: psn,
		legend: [['request', 'data'], ['acknowledged up to', 'answer'], ['lost', 'bad'], ['sent again', 'again'], ['NAK', 'mark']],
		xText: v => `${((p.base + v) / 1e9).toPrecision(4)} s`, yText: scaled,
		draw: (c, X, Y, all) => drawSequence(c, X, Y, all, p, points),
	}));
}

function showSequence(p) {
	const opposite = oppositeFlows(p.about), sent = new Map();

	for (let i = 0; i < p.n; i++)
		if (opposite[p.flow[i]] !== undefined && !packetIsResponse(p, i))
			sent.set(p.flow[i], (sent.get(p.flow[i]) || 0) + 1);
	const flows = [...sent].sort((a, b) => b[1] - a[1]).map(x => x[0]);
	if (!flows.length)
		return;
	byId('sequence-flow').replaceChildren(...flows.slice(0, 1000).map(f => make('option', { value: f },
		`${hostName(p.about, p.about.flows[f].from)} \u2192 ${hostName(p.about, p.about.flows[f].to)} ${hex(p.about.flows[f].to_qpn)}`)));
	byId('sequence-form').addEventListener('change', e => showSequenceOf(p, Number(e.target.value), opposite[e.target.value]));
	byId('sequence-form').addEventListener('submit', e => e.preventDefault());
	showSequenceOf(p, flows[0], opposite[flows[0]]);
}

function showPlots(report, p) {
	showRates(p);
	showLatencies(showPacketLatencies(p));
	showSequence(p);
}

function showPlotsOfPrograms(report) {
	showLatencies(programLatencies(report));
}
