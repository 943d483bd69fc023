/* SPDX-License-Identifier: MIT */
/*
 * Frames for libFuzzer: `make fuzz`. An input is the number of a link type, a byte of how many
 * bytes were not captured, and a frame. The parsed frame is built again, and parsing that one gives
 * the same result.
 */
#include "tests/fuzz/links.h"
#include "tests/lib/c/roce_same.h"

/* Memory of just the size, so that what is beyond it shows. */
static void build_again(const struct roce_pkt *p)
{
	u32 len = roce_frame_len(p), wire = 0, snap = len;
	struct roce_pkt q;
	u8 *frame;
	int n;

	while (roce_payload_needed(p, snap) > p->payload_cap)
		snap--;
	frame = malloc(snap ? snap : 1);
	must(frame);
	n = roce_build(p, frame, snap, &wire);
	must(n == (int)snap && wire == len);
	must(!roce_parse(roce_link_of(p->net), frame, snap, len, &q));
	must(!(q.wrong & ~(u32)(ROCE_CUT | ROCE_BAD_TVER | ROCE_BAD_OPCODE | ROCE_BAD_PAYLOAD |
				ROCE_BAD_UDP_CSUM)));
	must(roce_same(p, &q));
	free(frame);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct roce_pkt p;
	u32 link, n;
	u8 *frame;
	int ret;

	if (len < 2)
		return 0;
	link = links[data[0] % ARRAY_SIZE(links)];
	n = (u32)len - 2;
	frame = malloc(n ? n : 1);
	must(frame);
	memcpy(frame, data + 2, n);
	ret = roce_parse(link, frame, n, n + data[1], &p);
	must(ret == 0 || ret == -EBADMSG || ret == -ENOMSG);
	must(ret != -EBADMSG || *roce_wrong_text(p.wrong));
	if (!ret) {
		must(p.payload >= frame && p.payload + p.payload_cap <= frame + n);
		must(p.payload_cap <= p.payload_len && p.payload_len <= n + data[1]);
		build_again(&p);
	}
	free(frame);
	return 0;
}
