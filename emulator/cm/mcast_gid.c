/* SPDX-License-Identifier: MIT */
/**
 * DOC: the GID of the multicast group that an address of connection management stands for.
 */
#include "emulator/cm/model.h"

/* RFC 4391, 4: signature and P_Key; the rdma_cm has its own signature for datagrams. */
static void ipoib_mgid(const struct hca *hca, const struct hca_cmid *id, const struct cm_addr *a,
		       u8 mgid[16])
{
	u16 pkey = hca->dev[id->bound - 1].port[id->port].pkey[0] | 0x8000;
	bool v4 = a->family == 2;

	/* Assigned by the subnet manager itself: used unchanged. */
	if (!v4 && a->ip[0] == 0xff && (a->ip[1] & 0xf0) == 0x10 && a->ip[2] == 0xa0 &&
	    a->ip[3] == 0x1b) {
		memcpy(mgid, a->ip, 16);
		return;
	}
	memset(mgid, 0, 16);
	mgid[0] = 0xff;
	mgid[1] = 0x12;
	mgid[2] = v4 ? 0x40 : 0x60;
	mgid[3] = id->ps == CM_PS_UDP ? 0x01 : 0x1b;
	mgid[4] = (u8)(pkey >> 8);
	mgid[5] = (u8)pkey;
	if (v4) {
		memcpy(mgid + 12, a->ip + 12, 4);
		mgid[12] &= 0x0f;
	} else {
		memcpy(mgid + 6, a->ip + 6, 10);
	}
}

void cm_mcast_gid(const struct hca *hca, const struct hca_cmid *id, const struct cm_addr *a,
		  u8 mgid[16])
{
	if (cm_is_ib(hca, id))
		ipoib_mgid(hca, id, a, mgid);
	else
		memcpy(mgid, a->ip, 16);
}
