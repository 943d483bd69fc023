/* SPDX-License-Identifier: MIT */
#include "fabric/common/pcap_library.h"
#include "emulator/types.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

/* The name in Debian and its children, and the name everywhere else. */
static const char *const sonames[] = { "libpcap.so.0.8", "libpcap.so.1" };

static const struct {
	const char *name;
	size_t at; /* of its pointer in struct pcap_library */
} functions[] = {
	{ "pcap_open_dead", offsetof(struct pcap_library, open_dead) },
	{ "pcap_compile", offsetof(struct pcap_library, compile) },
	{ "pcap_freecode", offsetof(struct pcap_library, freecode) },
	{ "bpf_filter", offsetof(struct pcap_library, bpf_filter) },
	{ "pcap_open_offline", offsetof(struct pcap_library, open_offline) },
	{ "pcap_fopen_offline", offsetof(struct pcap_library, fopen_offline) },
	{ "pcap_fopen_offline_with_tstamp_precision",
	  offsetof(struct pcap_library, fopen_offline_with_tstamp_precision) },
	{ "pcap_datalink", offsetof(struct pcap_library, datalink) },
	{ "pcap_next_ex", offsetof(struct pcap_library, next_ex) },
	{ "pcap_geterr", offsetof(struct pcap_library, geterr) },
	{ "pcap_close", offsetof(struct pcap_library, close) },
};

_Static_assert(ARRAY_SIZE(functions) * sizeof(void *) == sizeof(struct pcap_library),
	       "each function has a row");

static int pcap_library_fail(char why[PCAP_ERRBUF_SIZE], const char *said)
{
	snprintf(why, PCAP_ERRBUF_SIZE, "libpcap cannot be loaded: %s", said);
	return -ELIBACC;
}

int pcap_library_load(struct pcap_library *lib, char why[PCAP_ERRBUF_SIZE])
{
	void *handle = NULL, *function;
	size_t i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(sonames) && !handle; i++) {
		handle = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		/* Report the first name, which most systems have. */
		if (!handle && !ret)
			ret = pcap_library_fail(why, dlerror());
	}
	if (!handle)
		return ret;
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		function = dlsym(handle, functions[i].name);
		if (!function)
			return pcap_library_fail(why, dlerror());
		*(void **)((char *)lib + functions[i].at) = function;
	}
	return 0;
}
