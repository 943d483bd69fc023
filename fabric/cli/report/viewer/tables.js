/* SPDX-License-Identifier: MIT */
/* Completions by status, registered memory, findings of the checker, the journal. */

function statusRows(report) {
	const rows = [];

	for (const p of list(report.programs))
		for (const [status, n] of Object.entries(object(p.completions)))
			rows.push({ program: programName(p), status, n: number(n), from: 'trace' });
	if (rows.length)
		return rows;
	const all = new Map();
	for (const e of list(report.journal)) {
		if (!text(e.status).startsWith('IBV_WC_'))
			continue;
		const key = JSON.stringify([programName(e.who), e.status]);
		const row = all.get(key) || { program: programName(e.who), status: e.status, n: 0, from: 'journal' };

		row.n += 1 + number(e.more);
		all.set(key, row);
	}
	return [...all.values()];
}

function showCompletions(report) {
	const rows = statusRows(report);

	if (!rows.length)
		return;
	fill('completions-body', rows[0].from === 'journal' ? make('p', { class: 'hint' },
		'From the journal: it has completions with an error only.') : null,
	table('Completions by status', [
		['Program', 'text', r => r.program],
		['Status', '', r => make('span', { class: r.status === 'IBV_WC_SUCCESS' ? '' : 'tag error' }, r.status)],
		['Number', 'num', r => count(r.n)],
	], rows));
}

/* --- findings --------------------------------------------------------------------------------- */

function stackText(stack) {
	return list(stack).map(f => {
		const where = f.source ? `${f.source}:${number(f.line)}` : `${text(f.file)}+${hex(number(f.offset))}`;

		return `${text(f.function) || '?'}\n    ${where}`;
	}).join('\n');
}

function findingCard(f) {
	return make('article', { class: `card ${f.severity === 'error' ? 'error' : 'notice'}` },
		make('p', {}, make('span', { class: 'tag' }, `${text(f.severity)}: ${text(f.name)}`),
			` ${programName(f)}`, f.times > 1 ? ` \u00d7${count(f.times)}` : ''),
		make('p', {}, text(f.text)),
		make('pre', { tabindex: 0, 'aria-label': 'Stack' }, stackText(f.stack)),
		f.other ? make('p', {}, `${text(f.other)}:`) : null,
		f.other ? make('pre', { tabindex: 0, 'aria-label': 'Other stack' }, stackText(f.other_stack)) : null,
		make('p', { class: 'soft' }, text(f.rule), f.mend ? ` Mend: ${text(f.mend)}` : ''));
}

function showFindings(report) {
	const all = list(report.findings);

	if (!all.length)
		return;
	fill('findings-body', all.map(findingCard));
}

/* --- the journal ------------------------------------------------------------------------------ */

const JOURNAL_SHOWN = 500;

function journalLine(e) {
	return [seconds(e.ts), text(e.status), programName(e.who), text(e.opcode), text(e.text)].join(' ');
}

function fillJournal(entries, filter) {
	const wanted = entries.filter(e => !filter || journalLine(e).toLowerCase().includes(filter));

	fill('journal-body', table('Journal', [
		['Time, s', 'num', e => seconds(e.ts)],
		['Severity', '', e => make('span', { class: `tag ${e.severity === 'error' ? 'error' : ''}` }, text(e.severity))],
		['Status', '', e => text(e.status)],
		['Program', 'text', e => programName(e.who)],
		['Operation', '', e => text(e.opcode)],
		['Why', 'text', e => text(e.text)],
	], wanted.slice(0, JOURNAL_SHOWN)),
	make('p', { class: 'soft', role: 'status' }, wanted.length > JOURNAL_SHOWN
		? `The first ${JOURNAL_SHOWN} of ${plural(wanted.length, 'entry', 'entries')}.`
		: `${plural(wanted.length, 'entry', 'entries')}.`));
}

function showJournal(report) {
	const entries = list(report.journal);

	if (!entries.length)
		return;
	fillJournal(entries, '');
	byId('journal-form').addEventListener('submit', e => e.preventDefault());
	byId('journal-filter').addEventListener('input',
		e => fillJournal(entries, e.target.value.trim().toLowerCase()));
}
