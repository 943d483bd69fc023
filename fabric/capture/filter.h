/* SPDX-License-Identifier: MIT */
/**
 * DOC: the packets that a capture's --filter lets through.
 */
#ifndef FABRIC_CAPTURE_FILTER_H
#define FABRIC_CAPTURE_FILTER_H

#include "emulator/types.h"
#include "fabric/common/pcap_library.h"

/**
 * struct capture_filter - a compiled filter.
 * @any: whether there is a filter; otherwise everything passes, and @pcap is not loaded
 * @code: by kind of link: Ethernet, InfiniBand; no instructions: nothing passes
 */
struct capture_filter {
	bool any;
	struct pcap_library pcap;
	struct bpf_program code[2];
};

/**
 * capture_filter_compile() - make a filter.
 * @text: in the language of pcap-filter(7); "": everything passes
 * @ib_ports: whether it must be applicable to packets of InfiniBand ports
 * @why: receives the reason for an error
 * Return: 0, after which capture_filter_free() is due; -EINVAL, -ENOMEM, -ELIBACC.
 */
int capture_filter_compile(struct capture_filter *filter, const char *text, bool ib_ports,
			   char why[PCAP_ERRBUF_SIZE]);
/** capture_filter_passes() - whether a frame of @len bytes, of which @cap are there, passes. */
bool capture_filter_passes(const struct capture_filter *filter, bool ib, const u8 *frame, u32 len,
			   u32 cap);
/** capture_filter_free() - free what capture_filter_compile() made, or failed to make. */
void capture_filter_free(struct capture_filter *filter);

#endif
