/* SPDX-License-Identifier: MIT */
/* Begins: first what needs no packets, so that the summary is seen while they are unpacked. */

const report = object(JSON.parse(byId('report').textContent));

function chooseConnection(key) {
	byId('f-conn').value = key;
	byId('ladder-form').dispatchEvent(new Event('change'));
	byId('ladder').scrollIntoView();
	byId('ladder-box').focus();
}

function showPackets(p, calls) {
	const connections = showConnections(report, p, chooseConnection);

	showLadder(report, p, calls, connections);
	showPlots(report, p);
}

/*
 * Parts that may have data are shown at once, with their links: what comes later moves nothing that a
 * reader already sees.
 */
function showParts() {
	const packets = object(report.packets).count > 0;
	const parts = {
		summary: true,
		ladder: packets || callsHaveLadder(report),
		rates: packets || list(report.samples).length > 1,
		latency: packets || list(report.programs).length,
		sequence: packets,
		completions: statusRows(report).length,
		memory: packets || list(report.memory).length,
		findings: list(report.findings).length,
		journal: list(report.journal).length,
	};

	for (const [id, shown] of Object.entries(parts))
		if (shown)
			showPart(id);
	byId('f-calls').parentElement.hidden = !callsHaveLadder(report);
	if (packets)
		byId('ladder-hint').textContent = ladderHint(report);
	fill('connections', make('p', { class: 'soft' }, packets ? 'Unpacking the packets\u2026' : ladderHint(report)));
}

/* Called when the whole page is there. */
async function reportBegin() {
	let packets = null;

	try {
		const calls = callsHaveLadder(report) ? await unpackCalls(report) : noCalls();

		if (object(report.packets).count) {
			packets = await unpackPackets(report.packets);
			showPackets(packets, calls);
		} else if (!byId('ladder').hidden) {
			showLadder(report, noPackets(), calls, []);
		}
	} catch (error) {
		fill('connections', make('p', { class: 'card error' }, `The packets of this page cannot be shown: ${error.message}`));
	}
	showPlotsOfPrograms(report);
	showSamples(report);
	showCompletions(report);
	showMemory(report, packets);
	showFindings(report);
	showJournal(report);
	for (const id of ['latency-plot', 'sequence-plot', 'memory-body'])
		if (!byId(id).firstChild)
			fill(id, make('p', { class: 'soft' }, 'Nothing to show.'));
	document.documentElement.dataset.ready = 'yes';
}

showParts();
showSummary(report);
document.documentElement.className = '';
byId('footer').textContent = `Made by ${text(report.made_by)} at ${new Date(number(report.made_at) * 1000).toISOString()}. ` +
	'The data is JSON in this file: see docs/design/report.md of rdmaemu.';
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
addEventListener('resize', redrawAll);
