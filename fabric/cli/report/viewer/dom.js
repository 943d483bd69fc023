/* SPDX-License-Identifier: MIT */
/* Elements and numbers. All text of the data goes through textContent. */

function byId(id) {
	return document.getElementById(id);
}

/* An element with attributes, listeners (onclick: f) and children: elements, or text. */
function make(tag, attributes, ...children) {
	const e = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith('on'))
			e.addEventListener(name.slice(2), value);
		else if (value !== null && value !== undefined)
			e.setAttribute(name, value);
	}
	for (const child of children.flat(9))
		if (child !== null && child !== undefined && child !== '')
			e.append(child);
	return e;
}

function fill(id, ...children) {
	byId(id).replaceChildren(...children.flat(9).filter(Boolean));
}

/* A table. columns: [title, class, (row) => text or element]. */
function table(caption, columns, rows) {
	const head = make('tr', {}, columns.map(c => make('th', { class: c[1], scope: 'col' }, c[0])));
	const body = rows.map(r => make('tr', {}, columns.map(c => make('td', { class: c[1] }, c[2](r)))));

	return make('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption },
		make('table', {}, make('caption', {}, caption), make('thead', {}, head), make('tbody', {}, body)));
}

function list(value) {
	return Array.isArray(value) ? value : [];
}

function object(value) {
	return value && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

function text(value) {
	return value === undefined || value === null ? '' : String(value);
}

function number(value) {
	return Number.isFinite(value) ? value : 0;
}

function plural(n, one, many) {
	return `${count(n)} ${n === 1 ? one : many || one + 's'}`;
}

function count(n) {
	return number(n).toLocaleString('en');
}

function seconds(ns) {
	return (number(ns) / 1e9).toFixed(6);
}

function duration(ns) {
	for (const [unit, name] of [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s']])
		if (ns >= unit)
			return `${(ns / unit).toFixed(ns >= 100 * unit ? 0 : 1)} ${name}`;
	return `${Math.round(ns)} ns`;
}

function scaled(n) {
	for (const [unit, name] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
		if (n >= unit)
			return `${(n / unit).toFixed(n >= 100 * unit ? 0 : 1)}${name}`;
	return String(Math.round(n));
}

function hex(n, digits) {
	return '0x' + n.toString(16).padStart(digits || 1, '0');
}

/* "rping[123]@b", as `rdmaemu log` names a program. */
function programName(who) {
	const w = object(who);

	if (!w.name)
		return w.node ? `node ${w.node}` : '';
	return `${w.name}[${text(w.pid)}]` + (w.node && w.node !== 'node0' ? `@${w.node}` : '');
}

/* A part of the report that has data: it is shown, and the navigation leads there. */
function showPart(id) {
	const section = byId(id);

	section.hidden = false;
	byId('nav').append(make('a', { href: '#' + id }, section.querySelector('h2').textContent));
}

/* Colours of the style sheet, for canvases. */
function colours() {
	const style = getComputedStyle(document.documentElement);
	const all = {};

	for (const name of ['page', 'text', 'soft', 'line', 'panel', 'data', 'answer', 'bad', 'again', 'mark'])
		all[name] = style.getPropertyValue('--' + name).trim();
	return all;
}

/* A canvas in pixels of the screen. Returns its context, with units of CSS pixels. */
function canvasContext(canvas) {
	const scale = window.devicePixelRatio || 1;
	const width = canvas.clientWidth, height = canvas.clientHeight;
	const w = Math.max(1, Math.round(width * scale)), h = Math.max(1, Math.round(height * scale));
	const c = canvas.getContext('2d');

	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
	}
	c.setTransform(scale, 0, 0, scale, 0, 0);
	c.clearRect(0, 0, width, height);
	return c;
}

/* Canvases that are drawn again when the page's size or colours change. */
const redrawn = [];

function keepDrawn(draw) {
	redrawn.push(draw);
	draw();
}

function redrawAll() {
	for (const draw of redrawn)
		draw();
}
