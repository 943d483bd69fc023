// SPDX-License-Identifier: MIT
// usage: node trace.mjs FILE.json...   read a file in the Trace Event Format as Chromium's DevTools do
//
// For each file one line: how many pairs of async events and how many slices the reader has, and the time from its first
// event to its last one in us. It ends with 1 if the reader leaves any of them out. The reader binds a flow only to a
// slice that begins at the flow's own time, unlike Perfetto's, so flows are not its to judge.
import { readFileSync } from "node:fs";
import { Helpers } from "@paulirish/trace_engine";

function threads(slices) {
	const by = new Map();

	for (const slice of slices) {
		const key = `${slice.pid} ${slice.tid}`;

		by.set(key, [...by.get(key) ?? [], slice]);
	}
	return by;
}

for (const path of process.argv.slice(2)) {
	const events = JSON.parse(readFileSync(path, "utf8")).traceEvents;
	const of = (...phases) => events.filter((event) => phases.includes(event.ph));

	Helpers.Trace.sortTraceEventsInPlace(events);
	const pairs = Helpers.Trace.createMatchedSortedSyntheticEvents(of("b", "e"));
	let placed = 0;

	for (const slices of threads(of("X")).values())
		placed += Helpers.TreeHelpers.treify(slices, { filter: { has: () => true } }).entryToNode.size;
	const timed = events.filter((event) => event.ph !== "M");
	const end = Math.max(...timed.map((event) => event.ts + (event.dur ?? 0)));

	console.log(`pairs ${pairs.length} slices ${placed} us ${Math.round(end - timed[0].ts)}`);
	if (pairs.length * 2 !== of("b", "e").length || placed !== of("X").length || pairs.some((pair) => !(pair.dur >= 0)))
		process.exitCode = 1;
}
