/* SPDX-License-Identifier: MIT */
/* Begins: first what needs no packets, so that the summary is seen while they are unpacked. */

const report = object(JSON.parse(byId('report').textContent));

function chooseConnection(key) {
	byId('f-conn').value = key;
	byId('ladder-form').dispatchEvent(new Event('change'));
	byId('ladder').scrollIntoView();
	byId('ladder-box').focus();
}

function showPackets(p) {
	const connections = showConnections(report, p, chooseConnection);

	showLadder(report, p, connections);
	showPlots(report, p);
}

/* Called when the whole page is there. */
async function reportBegin() {
	let packets = null;

	try {
		if (object(report.packets).count) {
			packets = await unpackPackets(report.packets);
			showPackets(packets);
		}
	} catch (error) {
		fill('connections', make('p', { class: 'card error' }, `The packets of this page cannot be shown: ${error.message}`));
	}
	showPlotsOfPrograms(report);
	showCompletions(report);
	showMemory(report, packets);
	showFindings(report);
	showJournal(report);
	document.documentElement.dataset.ready = 'yes';
}

showPart('summary');
showSummary(report);
byId('footer').textContent = `Made by ${text(report.made_by)} at ${new Date(number(report.made_at) * 1000).toISOString()}. ` +
	'The data is JSON in this file: see docs/design/report.md of rdmaemu.';
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
addEventListener('resize', redrawAll);
