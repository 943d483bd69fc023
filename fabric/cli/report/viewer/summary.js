/* SPDX-License-Identifier: MIT */
/* The first screen: what went wrong and why, the rules that fired, programs, connections. */

/* Notes of the fabric are none, nor events such as IBV_EVENT_COMM_EST. */
function isTrouble(e) {
	return e.severity === 'error' || (e.severity === 'notice' && e.kind !== 'event');
}

/* Entries of the journal that are alike as one, with how often it was. Errors come first. */
function alikeEntries(entries) {
	const all = new Map();

	for (const e of entries.filter(isTrouble)) {
		const key = JSON.stringify([e.status, programName(e.who), e.opcode, e.cause, e.rule]);
		const known = all.get(key);

		if (known)
			known.times += entryTimes(e);
		else
			all.set(key, { entry: e, times: entryTimes(e) });
	}
	const groups = [...all.values()];
	return groups.filter(g => g.entry.severity === 'error')
		.concat(groups.filter(g => g.entry.severity !== 'error'));
}

/* An entry may stand for more that are like it. */
function entryTimes(e) {
	return 1 + number(e.more);
}

function entryRule(entry) {
	return text(entry.rule_text);
}

function wrongCard(group) {
	const e = group.entry, rule = entryRule(e), who = programName(e.who), peer = programName(e.peer);

	return make('div', { class: `card ${e.severity === 'error' ? 'error' : 'notice'}` },
		make('p', {}, make('span', { class: 'tag' }, text(e.status) || text(e.kind)),
			who ? ` ${who}` : '', e.opcode ? ` ${text(e.opcode)}` : '', peer ? ` \u2192 ${peer}` : '',
			group.times > 1 ? ` \u00d7${count(group.times)}` : '',
			make('span', { class: 'soft' }, ` at ${seconds(e.ts)} s`)),
		make('p', {}, text(e.text)),
		rule && !text(e.text).includes(rule) ? make('p', { class: 'rule' }, `Rule ${rule}`) : null);
}

const WRONG_SHOWN = 8;

function showWrong(report) {
	const groups = alikeEntries(list(report.wrong).length ? list(report.wrong) : list(report.journal));
	const cards = groups.map(wrongCard);

	if (!cards.length) {
		if (report.wrong || report.journal)
			fill('wrong', make('p', {}, 'The journal has no error, drop, NAK or retry.'));
		return groups;
	}
	const more = cards.slice(WRONG_SHOWN);
	fill('wrong', make('h3', {}, 'What went wrong, and why'), cards.slice(0, WRONG_SHOWN),
		more.length ? make('details', {}, make('summary', {}, `${more.length} more`), more) : null);
	return groups;
}

/* --- rules ------------------------------------------------------------------------------------ */

function ruleVerdict(rule) {
	if (rule.hits)
		return make('span', { class: 'tag' }, 'fired');
	const how = rule.seen ? 'never hit' : 'never matched';
	return make('span', { class: `tag ${rule.must_fire ? 'error' : 'notice'}` },
		rule.must_fire ? `must fire, but ${how}` : how);
}

/* Programs that entries of the journal name with that rule. */
function ruleVictims(report, rule) {
	const names = new Set();

	for (const e of list(report.journal).concat(list(report.wrong)))
		if (e.rule !== undefined && e.rule === rule.id && programName(e.who))
			names.add(programName(e.who));
	return [...names].join(', ');
}

function showRules(report) {
	const rules = list(report.rules);

	if (!rules.length)
		return;
	fill('rules', table('Fault rules', [
		['Rule', '', r => text(r.name)],
		['Effect', '', ruleVerdict],
		['Hits', 'num', r => count(r.hits)],
		['Seen', 'num', r => count(r.seen)],
		['Does', 'text', r => make('code', {}, text(r.rule))],
		['Hit', 'text', r => ruleVictims(report, r)],
		['From', '', r => text(r.place)],
	], rules));
}

/* --- programs --------------------------------------------------------------------------------- */

function programTable(report) {
	const all = new Map();
	const know = who => {
		const name = object(who).name ? programName(who) : '';

		if (name && !all.has(name))
			all.set(name, { name, node: text(who.node), errors: 0, notices: 0, state: '' });
		return all.get(name);
	};

	for (const c of list(object(report.status).clients))
		(know(c) || {}).state = c.state === 'live' ? 'running at the end' : text(c.state);
	for (const p of list(report.programs))
		(know(p) || {}).state = p.ended ? 'ended' : 'killed, or was running';
	for (const e of list(report.journal)) {
		const who = know(e.who);

		know(e.peer);
		if (who)
			who[e.severity === 'error' ? 'errors' : 'notices'] += 1;
	}
	return [...all.values()];
}

function showPrograms(report) {
	const programs = programTable(report);

	if (programs.length)
		fill('programs', table('Programs', [
			['Program', 'text', p => p.name],
			['Node', '', p => p.node],
			['Errors', 'num', p => count(p.errors)],
			['Notices', 'num', p => count(p.notices)],
			['State', '', p => p.state],
		], programs));
	return programs;
}

/* --- the verdict ------------------------------------------------------------------------------ */

function runEnd(run) {
	if (run.signal)
		return `was killed by signal ${run.signal} (${text(run.signal_name)})`;
	return `ended with status ${number(run.exit_status)} after ${duration(number(run.took_ns))}`;
}

/* One sentence, of which a reader who sees nothing else learns the most. */
function verdictText(report, groups) {
	const errors = groups.filter(g => g.entry.severity === 'error');
	const worst = errors.find(g => entryRule(g.entry)) || errors[0];
	const run = report.run, findings = list(report.findings);
	const parts = [];

	if (run)
		parts.push(`${text(run.command)} ${runEnd(run)}.`);
	if (worst)
		parts.push(`${programName(worst.entry.who) || 'The fabric'} got ${text(worst.entry.status)}` +
			(entryRule(worst.entry) ? ` because of the rule ${entryRule(worst.entry)}.`
				: `: ${text(worst.entry.text)}.`));
	else if (groups.length)
		parts.push(`No error, but ${plural(groups.length, 'kind')} of trouble that was repaired.`);
	if (findings.length)
		parts.push(`The checker has ${plural(findings.length, 'finding')}.`);
	const idle = list(report.rules).filter(r => r.must_fire && !r.hits);
	if (idle.length)
		parts.push(`${plural(idle.length, 'rule')} had to fire and did not: ${idle.map(r => text(r.name)).join(', ')}.`);
	return parts.join(' ');
}

function hasFailed(report, groups) {
	const run = object(report.run);

	return Boolean(run.signal || run.exit_status || groups.some(g => g.entry.severity === 'error') ||
		list(report.findings).some(f => f.severity === 'error') ||
		list(report.rules).some(r => r.must_fire && !r.hits));
}

function showSummary(report) {
	const groups = showWrong(report);
	const verdict = byId('verdict');
	const sources = list(report.sources).map(s => text(s.name)).join(', ');

	byId('title').textContent = `rdmaemu report: ${sources}`;
	verdict.textContent = verdictText(report, groups) ||
		(report.journal || report.run ? 'Nothing went wrong.' : 'Packets and programs, without a journal.');
	if (report.journal || report.run)
		verdict.className = hasFailed(report, groups) ? 'failed' : 'fine';
	showRules(report);
	showPrograms(report);
}

function showConnections(report, p, choose) {
	const rows = packetConnections(p);
	const about = report.packets;
	const link = c => make('button', { type: 'button', class: 'link', onclick: () => choose(c.key) },
		connectionName(about, c.flow));

	fill('connections', table('Connections', [
		['Between', 'text', link],
		['Packets', 'num', c => count(c.packets)],
		['Bytes', 'num', c => scaled(c.bytes)],
		['Lost', 'num', c => count(c.lost)],
		['Sent again', 'num', c => count(c.again)],
		['NAK', 'num', c => count(c.naks)],
		['RNR', 'num', c => count(c.rnr)],
	], rows.slice(0, 200)),
	rows.length > 200 ? make('p', { class: 'soft' }, `${count(rows.length - 200)} more.`) : null,
	about.left_out ? make('p', { class: 'soft' },
		`The page has the latest ${count(p.n)} packets; ${count(about.left_out)} before them are not in it.`) : null,
	about.earlier ? make('p', { class: 'soft' }, 'Packets from the beginning of the run were not kept.') : null,
	about.cut ? make('p', { class: 'soft' }, 'The capture ends within a packet.') : null);
	return rows;
}
