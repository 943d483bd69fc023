/* SPDX-License-Identifier: MIT */
/*
 * The work request of a packet. Packets do not name it, but a queue pair's requests leave in the
 * order in which they were posted, and a message's first packet is known by its opcode: so the n-th
 * message of a flow is of the n-th work request, if the page has all packets and calls.
 */

const MESSAGE_BEGINS = [0, 4, 5, 6, 10, 11, 12, 19, 20, 23, 28, 29];
/* They send nothing. */
const LOCAL_REQUEST = /^(IBV_WR_)?(LOCAL_INV|BIND_MW),/;

/* The PSN of each message of a flow. */
function flowMessages(p, flow) {
	const psns = [];

	for (let i = 0; i < p.n; i++)
		if (p.flow[i] === flow && !(p.flags[i] & AGAIN) && MESSAGE_BEGINS.includes(p.opcode[i] & 31))
			psns.push(p.psn[i]);
	return psns;
}

/* The message that has a PSN, which the next one's is after; -1: none. */
function messageOf(psns, psn) {
	let n = psns.length - 1;

	while (n >= 0 && ((psn - psns[n]) & 0xffffff) >= 0x800000)
		n--;
	return n;
}

/* Posted work requests of a queue pair that send a message, as {call, index, of}. */
function queuePairPosts(view, node, qpn) {
	const calls = view.calls, all = [];

	for (let i = 0; i < calls.n; i++) {
		const name = callText(calls, calls.name[i]), what = callText(calls, calls.text[i]);

		if (calls.qpn[i] !== qpn || callProgram(calls, i).node !== node || calls.flags[i] & CALL_FAILED ||
		    !['ibv_post_send', 'ibv_wr_complete'].includes(name) || !(calls.flags[i] & CALL_WR))
			continue;
		const of = 1 + Number((/, and (\d+) more$/.exec(what) || [0, 0])[1]);

		if (!LOCAL_REQUEST.test(what))
			for (let index = 0; index < of; index++)
				all.push({ call: i, index, of });
		else if (of > 1)
			return [];
	}
	return all;
}

/* The flow of a packet's request: that of the packet, or the other one of its connection. */
function requestFlow(p, i) {
	const flow = p.about.flows[p.flow[i]];

	if (!packetIsResponse(p, i))
		return p.flow[i];
	return p.about.flows.findIndex(f => f.connection === flow.connection && f.from === flow.to && f.to === flow.from &&
		f.from_qpn === flow.to_qpn && f.to_qpn === flow.from_qpn);
}

/* What the packet's work request is, or an empty text. */
function packetWorkRequest(view, i) {
	const p = view.packets, calls = view.calls, number = requestFlow(p, i), flow = p.about.flows[number];

	if (!flow || flow.from_qpn === undefined || !calls.n || p.about.left_out || p.about.earlier || calls.about.left_out)
		return '';
	const psns = flowMessages(p, number), n = messageOf(psns, p.psn[i]);
	const posts = queuePairPosts(view, object(p.about.hosts[flow.from]).node, flow.from_qpn), post = posts[n];

	if (!post || posts.length < psns.length || view.callTime(post.call) > p.base + p.time[i])
		return '';
	const request = `wr_id 0x${text(calls.request[post.call])}`;

	return `${callText(calls, calls.text[post.call])}, ${post.of > 1 ? `${post.index + 1} of ${post.of} from ` : ''}${request}, ` +
		`posted at ${seconds(view.callTime(post.call))} s by ${callText(calls, calls.name[post.call])}`;
}
