/* SPDX-License-Identifier: MIT */
#include "fabric/capture/filter.h"
#include "traces/formats/roce.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MTU_ROOM (64u << 10)

static int capture_filter_compile_link(struct capture_filter *filter, bool ib, const char *text,
				       char why[PCAP_ERRBUF_SIZE])
{
	pcap_t *p = filter->pcap.open_dead(ib ? ROCE_LINK_IB : DLT_EN10MB, MTU_ROOM);
	int ret;

	if (!p) {
		snprintf(why, PCAP_ERRBUF_SIZE, "filter");
		return -ENOMEM;
	}
	ret = filter->pcap.compile(p, &filter->code[ib], text, 1, PCAP_NETMASK_UNKNOWN);
	if (ret) {
		filter->code[ib].bf_len = 0;
		snprintf(why, PCAP_ERRBUF_SIZE, "%.200s", filter->pcap.geterr(p));
	}
	filter->pcap.close(p);
	return ret ? -EINVAL : 0;
}

int capture_filter_compile(struct capture_filter *filter, const char *text, bool ib_ports,
			   char why[PCAP_ERRBUF_SIZE])
{
	int ret;

	memset(filter, 0, sizeof(*filter));
	if (!text[0])
		return 0;
	ret = pcap_library_load(&filter->pcap, why);
	if (ret)
		return ret;
	filter->any = true;
	ret = capture_filter_compile_link(filter, false, text, why);
	if (ret)
		return ret;
	ret = capture_filter_compile_link(filter, true, text, why);
	/*
	 * InfiniBand ports that come later: a filter that cannot be applied to their packets passes
	 * none.
	 */
	if (ret != -EINVAL || !ib_ports)
		return ret == -EINVAL ? 0 : ret;
	snprintf(why, PCAP_ERRBUF_SIZE,
		 "--filter: libpcap knows no fields of InfiniBand packets, only their length "
		 "('len < 100'); see --device for Ethernet ports");
	return ret;
}

bool capture_filter_passes(const struct capture_filter *filter, bool ib, const u8 *frame, u32 len,
			   u32 cap)
{
	const struct bpf_program *code = &filter->code[ib];

	return !filter->any ||
	       (code->bf_len && filter->pcap.bpf_filter(code->bf_insns, frame, len, cap));
}

void capture_filter_free(struct capture_filter *filter)
{
	u32 ib;

	for (ib = 0; ib < ARRAY_SIZE(filter->code) && filter->any; ib++)
		filter->pcap.freecode(&filter->code[ib]);
}
