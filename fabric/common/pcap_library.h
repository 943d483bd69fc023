/* SPDX-License-Identifier: MIT */
/**
 * DOC: libpcap, loaded when a filter or a capture file first needs it.
 *
 * On Debian libpcap links libdbus, libsystemd, libgcrypt and six libraries more. If the command
 * linked it, loading them would be half of each start of the command and of the fabric process,
 * most of which never touch a filter or a capture.
 */
#ifndef FABRIC_COMMON_PCAP_LIBRARY_H
#define FABRIC_COMMON_PCAP_LIBRARY_H

#include <pcap/pcap.h>

/** struct pcap_library - functions of libpcap; each is described in pcap(3PCAP). */
struct pcap_library {
	__typeof__(pcap_open_dead) *open_dead;
	__typeof__(pcap_compile) *compile;
	__typeof__(pcap_freecode) *freecode;
	__typeof__(bpf_filter) *bpf_filter;
	__typeof__(pcap_open_offline) *open_offline;
	__typeof__(pcap_fopen_offline) *fopen_offline;
	__typeof__(pcap_fopen_offline_with_tstamp_precision) *fopen_offline_with_tstamp_precision;
	__typeof__(pcap_datalink) *datalink;
	__typeof__(pcap_next_ex) *next_ex;
	__typeof__(pcap_geterr) *geterr;
	__typeof__(pcap_close) *close;
};

/**
 * pcap_library_load() - load libpcap, which stays loaded until the process ends.
 * @why: receives, on an error, what the dynamic loader says of the file that it cannot use
 * Return: 0 or -ELIBACC. Any thread may call it.
 */
int pcap_library_load(struct pcap_library *lib, char why[PCAP_ERRBUF_SIZE]);

#endif
