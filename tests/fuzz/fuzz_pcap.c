/* SPDX-License-Identifier: MIT */
/*
 * Capture files for libFuzzer, by libpcap, as `rdmaemu fault try` and `rdmaemu replay --inject`
 * read them: `make fuzz`.
 */
#include "tests/fuzz/links.h"

#include <pcap/pcap.h>
#include <stdio.h>

static void read_all(pcap_t *pcap)
{
	u32 link = (u32)pcap_datalink(pcap);
	struct pcap_pkthdr *h;
	struct roce_pkt p;
	const u8 *bytes;
	u8 *copy;

	while (pcap_next_ex(pcap, &h, &bytes) == 1) {
		/* Memory of just its size, so that what is read beyond it shows. */
		copy = malloc(h->caplen ? h->caplen : 1);
		must(copy);
		memcpy(copy, bytes, h->caplen);
		if (!roce_parse(link, copy, h->caplen, h->len, &p))
			must(p.payload + p.payload_cap <= copy + h->caplen);
		free(copy);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *pcap;
	FILE *file;

	if (!len)
		return 0;
	file = fmemopen((void *)data, len, "rb");
	must(file);
	pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, err);
	if (!pcap) {
		fclose(file);
		return 0;
	}
	read_all(pcap);
	pcap_close(pcap);
	return 0;
}
