/* SPDX-License-Identifier: MIT */
/* Samples of the fabric's state during a run: what packets do not show. */

function drawSteps(c, X, Y, samples, value, colour) {
	c.strokeStyle = colour;
	c.lineWidth = 1.5;
	c.beginPath();
	samples.forEach((s, i) => {
		if (i)
			c.lineTo(X(s.ts), Y(value(samples[i - 1])));
		c.lineTo(X(s.ts), Y(value(s)));
	});
	c.stroke();
}

function samplePlot(samples, name, label, value, colour) {
	return plotElement({
		label, xMin: number(samples[0].ts), xMax: number(samples[samples.length - 1].ts),
		yMax: Math.max(...samples.map(value), 1), legend: [[name, colour]],
		xText: v => `${(v / 1e9).toPrecision(4)} s`, yText: scaled,
		draw: (c, X, Y, all) => drawSteps(c, X, Y, samples, value, all[colour]),
		columns: [['At, s', 'num', s => seconds(s.ts)], [name, 'num', s => count(value(s))]],
		rows: samples,
	});
}

function showSamples(report) {
	const samples = list(report.samples).filter(s => Number.isFinite(s.ts));

	if (samples.length < 2)
		return;
	fill('samples-plot',
		samplePlot(samples, 'in flight', 'Work requests that were sent and have not completed, of all programs',
			s => number(s.in_flight), 'data'),
		samplePlot(samples, 'waiting', 'Completions that no program has polled yet',
			s => number(s.waiting), 'mark'),
		samplePlot(samples, 'bytes', 'Registered memory', s => number(s.memory), 'answer'));
}
