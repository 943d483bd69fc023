/* SPDX-License-Identifier: MIT */
/**
 * DOC: a queue pair of the emulator, and packets for it that anybody may have made.
 *
 * The packets that it sends are kept and not delivered: its peer exists only for its address.
 */
#ifndef TESTS_LIB_C_EMU_FOREIGN_H
#define TESTS_LIB_C_EMU_FOREIGN_H

#include "emulator/transport/untrusted.h"
#include "tests/lib/engine/emu.h"

#define FOREIGN_MTU  1024u
#define FOREIGN_KEPT 64u

/* Of foreign_pkt.flags */
#define FIRST BF_FIRST
#define LAST  BF_LAST
#define ONLY  (BF_FIRST | BF_LAST)
#define ASK   BF_ACK_REQ

/**
 * struct foreign_pkt - a packet. @psn: behind the connection's first; @off: in the live side's
 * memory
 * @asked, @part: of a READ request: the portion of its answer, all of it if @part is 0
 * @npkts: of a burst that a joined fabric sends, which nobody checks packet by packet; 0: a packet
 */
struct foreign_pkt {
	u8 op;
	u8 flags;
	u32 psn;
	u32 len;
	u8 aeth;
	u32 off;
	u32 dma_len;
	u32 asked, part;
	u32 rkey; /* 0: the right one */
	u32 swap; /* FLUSH: enum ib_flush */
	u32 npkts;
};

/** struct foreign - the queue pairs, and what the live one has sent. */
struct foreign {
	struct emu *m;
	struct emu_qp ghost, live;
	struct burst kept[FOREIGN_KEPT];
	u32 n_kept;
	u64 n_errors;
};

/** foreign_up() - a fresh HCA with a pair of that type (enum ib_qp_type). */
void foreign_up(struct foreign *f, u32 type);
/** foreign_again() - a new pair in the old one's place. */
void foreign_again(struct foreign *f);
/** foreign_down() - its end. Return: whether an audit finds nothing. */
bool foreign_down(struct foreign *f);
/** foreign_put() - a packet comes. */
void foreign_put(struct foreign *f, const struct foreign_pkt *p);
/** foreign_silent() - whether nothing came back since it was last asked. */
bool foreign_silent(struct foreign *f);
/** foreign_dropped() - whether the last notice tells of a packet dropped for that packet_fault. */
bool foreign_dropped(const struct foreign *f, u32 fault);
/** foreign_polled() - the next completion; status 255: there is none. */
struct cqe foreign_polled(struct foreign *f, struct emu_cq *cq);
/** foreign_first() - the PSN that those of packets with that opcode count from. */
u32 foreign_first(u8 op);

static inline const struct hca_qp *foreign_qp(const struct foreign *f)
{
	return &f->m->hca->qp[f->live.slot];
}

#endif
