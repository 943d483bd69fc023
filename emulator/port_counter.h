/* SPDX-License-Identifier: MIT */
/**
 * DOC: port counters: packets and messages are counted in struct hca_fresh first, everything else
 * in the port.
 *
 * Packets that go from one port of the fabric to another, or to itself, are counted once, for both.
 */
#ifndef EMULATOR_PORT_COUNTER_H
#define EMULATOR_PORT_COUNTER_H

#include "emulator/hca.h"

/** port_key() - a port in 16 bits; never FRESH_NOBODY. */
static inline u32 port_key(u32 dev, u32 port)
{
	_Static_assert(HCA_MAX_PORTS < 4 && HCA_MAX_DEVS * 4 < FRESH_NOBODY, "16 bits");
	return dev << 2 | port;
}

/** path_ports() - both ends of a path, as hca_fresh.ports has them. */
static inline u32 path_ports(const struct hca_path *p)
{
	return port_key(p->src_dev, p->src_port) | port_key(p->dst_dev, p->dst_port) << 16;
}

static inline u32 ports_turned(u32 ports)
{
	return ports << 16 | ports >> 16;
}

/** port_add_packets() - add to the port's own counters of packets. */
void port_add_packets(struct hca_port *p, enum pkt_move how, u64 npkts, u64 bytes);
/**
 * fresh_begin() - add the fresh counts to their ports' own, and have new ones of two ports.
 * @ports: as hca_fresh.ports
 */
void fresh_begin(struct hca *hca, u32 ports);

/**
 * fresh_add_packets() - count packets from the first of @ports to the second.
 * Return: false: nothing was counted: they are too many, or too long.
 */
static inline bool fresh_add_packets(struct hca *hca, u32 ports, u32 npkts, u64 bytes)
{
	struct hca_fresh *f = &hca->fresh;
	u32 way = 0;

	if (unlikely(bytes > FRESH_BYTES || npkts > FRESH_MAX))
		return false;
	if (f->ports != ports && f->ports == ports_turned(ports))
		way = 1;
	if (unlikely((!way && f->ports != ports) || f->n >= FRESH_MAX)) {
		fresh_begin(hca, ports);
		way = 0;
	}
	f->n++;
	f->pkts[way] = (u16)(f->pkts[way] + npkts);
	f->bytes[way] += (u32)bytes;
	return true;
}

/** port_count_between() - packets have gone from one end of a path of this fabric to the other. */
static inline void port_count_between(struct hca *hca, const struct hca_path *p, u32 npkts,
				      u64 bytes)
{
	if (likely(fresh_add_packets(hca, path_ports(p), npkts, bytes)))
		return;
	port_add_packets(&hca->dev[p->src_dev].port[p->src_port], MOVE_SENT, npkts, bytes);
	port_add_packets(&hca->dev[p->dst_dev].port[p->dst_port], MOVE_RECEIVED, npkts, bytes);
}

/** port_count_packets() - a port has sent packets, or received them. */
static inline void port_count_packets(struct hca *hca, u32 dev, u32 port, enum pkt_move how,
				      u32 npkts, u64 bytes)
{
	u32 ports = port_key(dev, port) | FRESH_NOBODY << 16;

	if (how == MOVE_RECEIVED)
		ports = ports_turned(ports);
	if (unlikely(!fresh_add_packets(hca, ports, npkts, bytes)))
		port_add_packets(&hca->dev[dev].port[port], how, npkts, bytes);
}

/** fresh_port() - which of the two a QP's port is. If it is neither, it becomes the first. */
static inline u32 fresh_port(struct hca *hca, const struct hca_qp *qp)
{
	const struct hca_fresh *f = &hca->fresh;
	u32 key = port_key(qp->dev, qp->attr.port_num);

	if ((f->ports & 0xffff) == key)
		return 0;
	if (f->ports >> 16 == key)
		return 1;
	fresh_begin(hca, key | FRESH_NOBODY << 16);
	return 0;
}

/** count_send(), count_recv() - a SEND, or its receive, has completed. */
static inline void count_send(struct hca *hca, const struct hca_qp *qp)
{
	struct hca_fresh *f = &hca->fresh;
	u32 i = fresh_port(hca, qp);

	if (unlikely(++f->sends[i] >= FRESH_SOME))
		fresh_begin(hca, f->ports);
}

static inline void count_recv(struct hca *hca, const struct hca_qp *qp)
{
	struct hca_fresh *f = &hca->fresh;
	u32 i = fresh_port(hca, qp);

	if (unlikely(++f->recvs[i] >= FRESH_SOME))
		fresh_begin(hca, f->ports);
}

/**
 * fresh_add_message() - a message of one packet of @bytes has gone from the first of @ports to the
 * second, and its ACK back, and with @send a SEND and its receive have completed.
 * Return: false: nothing was counted; the fresh counts are other ports', or many.
 */
static inline __attribute__((always_inline)) bool fresh_add_message(struct hca *hca, u32 ports,
								    u32 bytes, bool send)
{
	struct hca_fresh *f = &hca->fresh;
	u32 way = 0;

	if (unlikely(f->ports != ports)) {
		if (f->ports != ports_turned(ports))
			return false;
		way = 1;
	}
	/* A message adds 2 to @n, so @sends and @recvs end far from what they can hold. */
	if (unlikely(f->n + 2u > FRESH_MAX || bytes > FRESH_BYTES))
		return false;
	f->n += 2;
	f->pkts[0]++;
	f->pkts[1]++;
	f->bytes[way] += bytes;
	f->sends[way] += send;
	f->recvs[!way] += send;
	return true;
}

/* --- port_counter.c --- */

/**
 * hca_dev_snapshot() - a device as it is now, with all that its ports have counted. Without the
 * token: a count may be seen before or after it went to its port, once in a while by both or
 * neither.
 */
void hca_dev_snapshot(const struct hca *hca, u32 dev, struct hca_dev *out);

#endif
