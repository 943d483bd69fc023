/* SPDX-License-Identifier: MIT */
/**
 * DOC: port counters under the names of the kernel's sysfs: counters/ as in
 * drivers/infiniband/core, hw_counters/ as in rdma_rxe.
 */
#include "emulator/verbs/port_counter_files.h"

/* Files whose value is not one of enum hca_counter. */
enum special {
	ZERO = CNT_COUNT, /* cannot occur on an emulated port */
	XMIT_WORDS,
	RCV_WORDS,
	UNICAST_XMIT,
	UNICAST_RCV,
	LIFESPAN,
};

/** struct file - one file; @what: enum hca_counter or enum special. */
struct file {
	const char *name;
	u8 what;
};

static const struct file counters[] = {
	{ "VL15_dropped", ZERO },
	{ "excessive_buffer_overrun_errors", ZERO },
	{ "link_downed", CNT_LINK_DOWNED },
	{ "link_error_recovery", ZERO },
	{ "local_link_integrity_errors", ZERO },
	{ "multicast_rcv_packets", CNT_MCAST_RCV },
	{ "multicast_xmit_packets", CNT_MCAST_XMIT },
	{ "port_rcv_constraint_errors", ZERO },
	{ "port_rcv_data", RCV_WORDS },
	{ "port_rcv_errors", CNT_RCV_ERRORS },
	{ "port_rcv_packets", CNT_RCV_PKTS },
	{ "port_rcv_remote_physical_errors", ZERO },
	{ "port_rcv_switch_relay_errors", ZERO },
	{ "port_xmit_constraint_errors", ZERO },
	{ "port_xmit_data", XMIT_WORDS },
	{ "port_xmit_discards", CNT_SEND_ERR },
	{ "port_xmit_packets", CNT_XMIT_PKTS },
	{ "port_xmit_wait", ZERO },
	{ "symbol_error", ZERO },
	{ "unicast_rcv_packets", UNICAST_RCV },
	{ "unicast_xmit_packets", UNICAST_XMIT },
};

static const struct file hw_counters[] = {
	{ "ack_deferred", CNT_DEFERRED },
	{ "completer_retry_err", CNT_RETRY },
	{ "duplicate_request", CNT_DUP_REQUEST },
	{ "lifespan", LIFESPAN },
	{ "link_downed", CNT_LINK_DOWNED },
	{ "out_of_seq_request", CNT_OUT_OF_SEQ },
	{ "rcvd_pkts", CNT_RCV_PKTS },
	{ "rcvd_rnr_err", CNT_RNR_RCVD },
	{ "rcvd_seq_err", CNT_SEQ_ERR },
	{ "rdma_recvs", CNT_RDMA_RECVS },
	{ "rdma_sends", CNT_RDMA_SENDS },
	{ "retry_exceeded_err", CNT_RETRY_EXC },
	{ "retry_rnr_exceeded_err", CNT_RNR_RETRY_EXC },
	{ "send_err", CNT_SEND_ERR },
	{ "send_rnr_err", CNT_RNR_SENT },
	{ "sent_pkts", CNT_XMIT_PKTS },
};

/*
 * PortXmitData counts words of whole packets (IBTA 16.1.3.5). The engine counts payload; each
 * packet adds at least a local route header (on Ethernet: Ethernet, IPv4 and UDP headers), a base
 * transport header and the invariant CRC.
 */
static u64 port_data_words(const struct hca_dev *d, u64 packets, u64 bytes)
{
	const u32 overhead = d->link_layer == LINK_INFINIBAND ? 8 + 12 + 4 : 14 + 20 + 8 + 12 + 4;

	return (bytes + packets * overhead) / 4;
}

static u64 port_file_compute(const struct hca_dev *d, const u64 *c, u32 what)
{
	switch (what) {
	case ZERO:
		return 0;
	case XMIT_WORDS:
		return port_data_words(d, c[CNT_XMIT_PKTS], c[CNT_XMIT_BYTES]);
	case RCV_WORDS:
		return port_data_words(d, c[CNT_RCV_PKTS], c[CNT_RCV_BYTES]);
	case UNICAST_XMIT:
		return c[CNT_XMIT_PKTS] - min_u64(c[CNT_MCAST_XMIT], c[CNT_XMIT_PKTS]);
	case UNICAST_RCV:
		return c[CNT_RCV_PKTS] - min_u64(c[CNT_MCAST_RCV], c[CNT_RCV_PKTS]);
	case LIFESPAN:
		return 10; /* ms; nothing is cached */
	default:
		return c[what];
	}
}

static const struct file *port_files_of(enum port_dir dir, u32 *n)
{
	*n = dir == DIR_COUNTERS ? ARRAY_SIZE(counters) : ARRAY_SIZE(hw_counters);
	return dir == DIR_COUNTERS ? counters : hw_counters;
}

const char *port_file_name(enum port_dir dir, u32 i)
{
	const struct file *f;
	u32 n;

	f = port_files_of(dir, &n);
	return i < n ? f[i].name : NULL;
}

bool port_file_value(const struct hca_dev *d, u32 port, enum port_dir dir, const char *name,
		     u64 *value)
{
	const struct file *f;
	u64 now[CNT_COUNT];
	u32 i, n, k;

	if (!port || port > d->n_ports || port > HCA_MAX_PORTS)
		return false;
	f = port_files_of(dir, &n);
	for (i = 0; i < n; i++) {
		if (strcmp(f[i].name, name) != 0)
			continue;
		for (k = 0; k < CNT_COUNT; k++)
			now[k] = load_relaxed(&d->port[port].counters[k]);
		*value = port_file_compute(d, now, f[i].what);
		return true;
	}
	return false;
}
