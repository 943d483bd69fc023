/* SPDX-License-Identifier: MIT */
/*
 * Capture files for libFuzzer, by libpcap, as `rdmaemu fault try` and `rdmaemu replay --inject`
 * read them, and by the reader of `rdmaemu trace ladder`: `make fuzz`.
 */
#include "tests/fuzz/links.h"
#include "traces/formats/capture_file.h"

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

static void read_file(const u8 *data, size_t len)
{
	struct capture_file f;
	struct capture_pkt p;

	if (capture_file_parse(&f, data, len))
		return;
	while (capture_file_next(&f, &p)) {
		must(p.frame >= data && p.frame + p.caplen <= data + len);
		must(!p.comment || (const u8 *)p.comment + p.comment_len <= data + len);
	}
	capture_file_end(&f);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *pcap;
	FILE *file;

	read_file(data, len);
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
