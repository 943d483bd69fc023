/* SPDX-License-Identifier: MIT */
/* Registered memory: regions of recorded programs, and what requests on the wire name by rkey. */

/* Accesses of packets, by rkey. Those of packets whose bytes the page has. */
function wireRegions(p) {
	const all = new Map();

	for (const i of p.frames.keys()) {
		const m = packetMemory(p, i);

		if (!m || !m.length)
			continue;
		let r = all.get(m.key);
		if (!r) {
			r = { key: m.key, from: m.va, to: m.va, accesses: [], bytes: 0, kinds: new Map() };
			all.set(m.key, r);
		}
		const end = m.va + BigInt(m.length), name = packetName(p, i);
		r.from = m.va < r.from ? m.va : r.from;
		r.to = end > r.to ? end : r.to;
		r.bytes += m.length;
		r.kinds.set(name, (r.kinds.get(name) || 0) + 1);
		r.accesses.push([m.va, end, packetIsResponse(p, i) ? 'answer' : (p.opcode[i] & 31) === 12 ? 'answer' : 'data']);
	}
	return [...all.values()];
}

/* A line that is as long as the region, dark where it was accessed often. */
function regionStrip(region, label) {
	const canvas = make('canvas', { class: 'strip', role: 'img', 'aria-label': label });

	requestAnimationFrame(() => keepDrawn(() => {
		if (canvas.isConnected)
			drawStrip(canvas, region);
	}));
	return canvas;
}

function drawStrip(canvas, region) {
	const c = canvasContext(canvas), all = colours(), width = canvas.clientWidth, height = canvas.clientHeight;
	const span = Number(region.to - region.from) || 1;

	c.fillStyle = all.panel;
	c.fillRect(0, 0, width, height);
	c.globalAlpha = Math.max(0.15, Math.min(1, 8 / Math.max(1, region.accesses.length)));
	for (const [from, to, colour] of region.accesses) {
		c.fillStyle = all[colour];
		c.fillRect(Number(from - region.from) / span * width, 3, Math.max(1, Number(to - from) / span * width), height - 6);
	}
	c.globalAlpha = 1;
	c.strokeStyle = all.soft;
	c.strokeRect(0.5, 0.5, width - 1, height - 1);
}

function wireRegionElement(r) {
	const kinds = [...r.kinds].map(([name, n]) => `${count(n)} ${name}`).join(', ');
	const label = `rkey ${hex(r.key)}, ${hex(r.from)} to ${hex(r.to)}: ${kinds}, ${scaled(r.bytes)} bytes`;

	return make('div', {}, make('p', { class: 'mono' }, label), regionStrip(r, label));
}

/* --- regions of recorded programs ------------------------------------------------------------- */

function toRegion(m) {
	const from = BigInt(text(m.addr) || 0);

	return { from, to: from + BigInt(number(m.length) || 1),
		accesses: list(m.accesses).map(a => [from + BigInt(number(a[0])), from + BigInt(number(a[1])),
			a[2] === 'remote' ? 'mark' : a[2] === 'read' ? 'answer' : 'data']) };
}

function programRegionElement(m) {
	const label = `${text(m.program)} ${text(m.name)}: ${scaled(number(m.length))} bytes at ${hex(BigInt(text(m.addr) || 0))}, ` +
		`rkey ${hex(number(m.rkey))}, ${text(m.access) || 'local read'}; ${plural(number(m.local), 'local access', 'local accesses')}, ` +
		`${plural(number(m.remote), 'remote access', 'remote accesses')}${m.deregistered ? '' : ', registered to the end'}`;

	return make('div', {}, make('p', { class: 'mono' }, label), regionStrip(toRegion(m), label));
}

const REGIONS_SHOWN = 100;

function showMemory(report, p) {
	const recorded = list(report.memory), wire = p ? wireRegions(p) : [];

	if (!recorded.length && !wire.length)
		return;
	fill('memory-body',
		make('div', { class: 'legend' }, [['written', 'data'], ['read', 'answer'], ['by a peer', 'mark']].map(
			([name, colour]) => make('span', { style: `--c: var(--${colour})` }, name))),
		recorded.length ? [make('h3', {}, 'Regions of recorded programs'), recorded.slice(0, REGIONS_SHOWN).map(programRegionElement)] : null,
		wire.length ? [make('h3', {}, 'What packets access'), make('p', { class: 'hint' }, `Requests whose first bytes the page has: their addresses, by rkey.`),
			wire.slice(0, REGIONS_SHOWN).map(wireRegionElement)] : null,
		recorded.length + wire.length > REGIONS_SHOWN ? make('p', { class: 'soft' }, 'There are more regions.') : null);
}
