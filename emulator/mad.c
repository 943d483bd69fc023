/* SPDX-License-Identifier: MIT */
/* Conversion of CM messages to bytes and back. See mad.h. */
#include "emulator/mad.h"

#define CMA_VERSION 0

struct place {
	u16 bit;
	u8 width;
};

/* @bit counts from the most significant bit of byte @byte after the common header. */
#define AT(byte, bit, width)                                                                       \
	{                                                                                          \
		(MAD_HDR + (byte)) * 8 + (bit), width                                              \
	}
#define HDR(byte, width)                                                                           \
	{                                                                                          \
		(byte) * 8, width                                                                  \
	}

static const struct place places[F_COUNT] = {
	[F_BASE_VERSION] = HDR(0, 8),
	[F_CLASS] = HDR(1, 8),
	[F_CLASS_VERSION] = HDR(2, 8),
	[F_METHOD] = HDR(3, 8),
	[F_TID] = HDR(8, 64),
	[F_ATTR] = HDR(16, 16),
	[F_ATTR_MOD] = HDR(20, 32),
	[F_LOCAL_ID] = AT(0, 0, 32),
	[F_REMOTE_ID] = AT(4, 0, 32),

	[F_REQ_VENDOR_ID] = AT(5, 0, 24),
	[F_REQ_SERVICE_ID] = AT(8, 0, 64),
	[F_REQ_CA_GUID] = AT(16, 0, 64),
	[F_REQ_QKEY] = AT(28, 0, 32),
	[F_REQ_QPN] = AT(32, 0, 24),
	[F_REQ_RESPONDER_RESOURCES] = AT(35, 0, 8),
	[F_REQ_INITIATOR_DEPTH] = AT(39, 0, 8),
	[F_REQ_REMOTE_TIMEOUT] = AT(43, 0, 5),
	[F_REQ_TRANSPORT] = AT(43, 5, 2),
	[F_REQ_FLOW_CONTROL] = AT(43, 7, 1),
	[F_REQ_PSN] = AT(44, 0, 24),
	[F_REQ_LOCAL_TIMEOUT] = AT(47, 0, 5),
	[F_REQ_RETRY_COUNT] = AT(47, 5, 3),
	[F_REQ_PKEY] = AT(48, 0, 16),
	[F_REQ_MTU] = AT(50, 0, 4),
	[F_REQ_RNR_RETRY] = AT(50, 5, 3),
	[F_REQ_MAX_RETRIES] = AT(51, 0, 4),
	[F_REQ_SRQ] = AT(51, 4, 1),
	[F_REQ_EXT_TRANSPORT] = AT(51, 5, 3),
	[F_REQ_LOCAL_LID] = AT(52, 0, 16),
	[F_REQ_REMOTE_LID] = AT(54, 0, 16),
	[F_REQ_FLOW_LABEL] = AT(88, 0, 20),
	[F_REQ_RATE] = AT(91, 2, 6),
	[F_REQ_TRAFFIC_CLASS] = AT(92, 0, 8),
	[F_REQ_HOP_LIMIT] = AT(93, 0, 8),
	[F_REQ_SL] = AT(94, 0, 4),
	[F_REQ_SUBNET_LOCAL] = AT(94, 4, 1),
	[F_REQ_ACK_TIMEOUT] = AT(95, 0, 5),
	[F_REQ_ALT_LOCAL_LID] = AT(96, 0, 16),

	[F_MRA_ABOUT] = AT(8, 0, 2),
	[F_MRA_TIMEOUT] = AT(9, 0, 5),

	[F_REJ_ABOUT] = AT(8, 0, 2),
	[F_REJ_INFO_LEN] = AT(9, 0, 7),
	[F_REJ_REASON] = AT(10, 0, 16),

	[F_REP_QKEY] = AT(8, 0, 32),
	[F_REP_QPN] = AT(12, 0, 24),
	[F_REP_VENDOR_H] = AT(15, 0, 8),
	[F_REP_EECN] = AT(16, 0, 24),
	[F_REP_VENDOR_M] = AT(19, 0, 8),
	[F_REP_PSN] = AT(20, 0, 24),
	[F_REP_VENDOR_L] = AT(23, 0, 8),
	[F_REP_RESPONDER_RESOURCES] = AT(24, 0, 8),
	[F_REP_INITIATOR_DEPTH] = AT(25, 0, 8),
	[F_REP_ACK_DELAY] = AT(26, 0, 5),
	[F_REP_FAILOVER] = AT(26, 5, 2),
	[F_REP_FLOW_CONTROL] = AT(26, 7, 1),
	[F_REP_RNR_RETRY] = AT(27, 0, 3),
	[F_REP_SRQ] = AT(27, 3, 1),
	[F_REP_CA_GUID] = AT(28, 0, 64),

	[F_DREQ_QPN] = AT(8, 0, 24),

	[F_LAP_QPN] = AT(12, 0, 24),
	[F_LAP_TIMEOUT] = AT(15, 0, 5),
	[F_LAP_LOCAL_LID] = AT(20, 0, 16),
	[F_LAP_REMOTE_LID] = AT(22, 0, 16),
	[F_APR_INFO_LEN] = AT(8, 0, 8),
	[F_APR_STATUS] = AT(9, 0, 8),

	[F_SIDR_REQ_PKEY] = AT(4, 0, 16),
	[F_SIDR_REQ_SERVICE_ID] = AT(8, 0, 64),

	[F_SIDR_REP_STATUS] = AT(4, 0, 8),
	[F_SIDR_REP_INFO_LEN] = AT(5, 0, 8),
	[F_SIDR_REP_VENDOR_H] = AT(6, 0, 16),
	[F_SIDR_REP_QPN] = AT(8, 0, 24),
	[F_SIDR_REP_VENDOR_L] = AT(11, 0, 8),
	[F_SIDR_REP_SERVICE_ID] = AT(12, 0, 64),
	[F_SIDR_REP_QKEY] = AT(20, 0, 32),
};

u64 mad_get(const u8 mad[MAD_SIZE], enum cm_field f)
{
	u32 bit = places[f].bit, end = bit + places[f].width;
	u64 v = 0;
	u32 i;

	for (i = bit / 8; i * 8 < end; i++)
		v = v << 8 | mad[i];
	v >>= i * 8 - end;
	return places[f].width == 64 ? v : v & (BIT64(places[f].width) - 1);
}

void mad_set(u8 mad[MAD_SIZE], enum cm_field f, u64 value)
{
	u32 bit = places[f].bit, end = bit + places[f].width;
	u64 mask = places[f].width == 64 ? ~0ULL : BIT64(places[f].width) - 1;
	u32 i = DIV_ROUND_UP(end, 8), shift = i * 8 - end;

	value = (value & mask) << shift;
	mask <<= shift;
	while (i-- > bit / 8) {
		mad[i] = (u8)((mad[i] & ~mask) | value);
		value >>= 8;
		mask >>= 8;
	}
}

void mad_start(u8 mad[MAD_SIZE], enum cm_attr attr, u64 tid)
{
	memset(mad, 0, MAD_SIZE);
	mad_set(mad, F_BASE_VERSION, MAD_BASE);
	mad_set(mad, F_CLASS, MAD_CLASS_CM);
	mad_set(mad, F_CLASS_VERSION, MAD_CM_VERSION);
	mad_set(mad, F_METHOD, MAD_METHOD_SEND);
	mad_set(mad, F_TID, tid);
	mad_set(mad, F_ATTR, attr);
}

bool mad_is_cm(const u8 mad[MAD_SIZE])
{
	return mad_get(mad, F_BASE_VERSION) == MAD_BASE && mad_get(mad, F_CLASS) == MAD_CLASS_CM &&
	       mad_get(mad, F_CLASS_VERSION) == MAD_CM_VERSION &&
	       mad_get(mad, F_METHOD) == MAD_METHOD_SEND;
}

u32 mad_private_data(enum cm_attr attr, u32 *len)
{
	static const struct {
		u8 off;
		u8 len;
	} area[MAD_ATTR_END] = {
		[MAD_REQ] = { 140, CMA_HDR + CM_REQ_DATA },
		[MAD_MRA] = { 10, 222 },
		[MAD_REJ] = { 84, CM_REJ_DATA },
		[MAD_REP] = { 36, CM_REP_DATA },
		[MAD_RTU] = { 8, CM_RTU_DATA },
		[MAD_DREQ] = { 12, CM_DREQ_DATA },
		[MAD_DREP] = { 8, CM_DREP_DATA },
		[MAD_SIDR_REQ] = { 16, CMA_HDR + CM_SIDR_REQ_DATA },
		[MAD_SIDR_REP] = { 96, CM_SIDR_REP_DATA },
		[MAD_LAP] = { 64, 168 },
		[MAD_APR] = { 84, 148 },
	};

	*len = area[attr].len;
	return MAD_HDR + area[attr].off;
}

/* An IPv4 address is in the last 4 of the 16 bytes, after zeros. */
static void cma_put_ip(u8 *p, const struct cm_addr *a)
{
	if (a->family == CM_AF_INET)
		memcpy(p + 12, a->ip + 12, 4);
	else
		memcpy(p, a->ip, 16);
}

static void cma_get_ip(const u8 *p, struct cm_addr *a)
{
	if (a->family == CM_AF_INET)
		gid_map_v4(a->ip, p + 12);
	else
		memcpy(a->ip, p, 16);
}

void cma_put(u8 *p, const struct cm_addr *src, const struct cm_addr *dst)
{
	memset(p, 0, CMA_HDR);
	p[0] = CMA_VERSION;
	p[1] = src->family == CM_AF_INET ? 4 << 4 : 6 << 4;
	p[2] = (u8)(src->port >> 8);
	p[3] = (u8)src->port;
	cma_put_ip(p + 4, src);
	cma_put_ip(p + 20, dst);
}

int cma_get(const u8 *p, u16 port, struct cm_addr *local, struct cm_addr *peer)
{
	u32 version = p[1] >> 4;

	if (p[0] != CMA_VERSION)
		return -EINVAL;
	if (version != 4 && version != 6)
		return -EAFNOSUPPORT;
	*local =
		(struct cm_addr){ .family = version == 4 ? CM_AF_INET : CM_AF_INET6, .port = port };
	*peer = *local;
	peer->port = (u16)(p[2] << 8 | p[3]);
	cma_get_ip(p + 4, peer);
	cma_get_ip(p + 20, local);
	return 0;
}
