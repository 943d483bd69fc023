/* SPDX-License-Identifier: MIT */
/*
 * Large bursts of which the end has not come: their packets are taken as they come. See
 * tests/lib/mesh/world.h.
 */
#include "tests/lib/c/cu.h"
#include "tests/lib/mesh/peer.h"

#include <sys/mman.h>
#include <unistd.h>

#define FAR  1u /* an address of another host: the connection is sealed */
#define SIZE ((200u << 10) + 300) /* of the payload; the last packet is a short one */
#define HEAD (JOIN_HDR + JOIN_BURST)

static u8 frame[HEAD + SIZE];

static struct world_sock *member(u32 from)
{
	struct world_sock *s;

	world_make();
	s = peer_join(from, 0, JOIN_F_AES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_TRUE(peer_begin(s) && peer_tables(s));
	world_turn(NSEC_PER_MSEC);
	world_turn(NSEC_PER_MSEC);
	CU_ASSERT_TRUE_FATAL(world_connect(0));
	return s;
}

static void end(void)
{
	CU_ASSERT_TRUE(world_audit());
	world_reset();
}

static struct hca_qp *pair(void)
{
	return &world.m->hca->qp[world.qp.slot];
}

static struct jlane *lane(void)
{
	return &mesh_member(world.f, peer_id(0))->lane[LANE_REQUEST];
}

/* Make the frame of a large WRITE. */
static struct burst frame_make(void)
{
	struct join_hdr h = { .len = sizeof(frame),
			      .type = JT_BURST,
			      .lane = LANE_REQUEST,
			      .src = peer_id(0),
			      .dst = WORLD_FABRIC };
	struct burst b = peer_write(SIZE);

	join_hdr_put(frame, &h);
	join_burst_put(frame + JOIN_HDR, &b, b.src_dev, b.dst_dev);
	emu_fill(frame + HEAD, SIZE, 11);
	return b;
}

static void turns(u32 n)
{
	while (n--)
		world_turn(NSEC_PER_MSEC);
}

/* Send bytes [from, to) of the frame, and let the fabric handle them. */
static void send_bytes(struct world_sock *s, u32 from, u32 to)
{
	CU_ASSERT_TRUE_FATAL(peer_put(s, frame + from, to - from));
	turns(4);
}

/* The engine has taken all of the frame, and the member has credit for all of it. */
static void check_done(const struct burst *b, u64 taken)
{
	CU_ASSERT_EQUAL(pair()->resp.epsn, psn_add(b->psn, b->npkts));
	CU_ASSERT_EQUAL(lane()->taken, taken + sizeof(frame));
}

static const u32 cuts[] = { HEAD - 1,	   HEAD + 1,	  HEAD + JOIN_AV,    HEAD + 20000,
			    HEAD + 100000, HEAD + 131072, HEAD + SIZE - 300, HEAD + SIZE - 1 };

static void test_packets_are_taken_as_they_come(void)
{
	struct world_sock *s;
	struct burst b;
	u32 i, from, half;
	u64 taken;

	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		for (from = 0; from <= FAR; from++) {
			s = member(from);
			b = frame_make();
			taken = lane()->taken;
			send_bytes(s, 0, cuts[i]);
			half = (u32)psn_diff(pair()->resp.epsn, b.psn) * b.mtu;
			CU_ASSERT(half <= cuts[i]);
			if (cuts[i] >= HEAD + 100000)
				CU_ASSERT(half >= 65536);
			CU_ASSERT_EQUAL(memcmp(world.m->c[0].mem, frame + HEAD, half), 0);
			send_bytes(s, cuts[i], sizeof(frame));
			check_done(&b, taken);
			CU_ASSERT_EQUAL(memcmp(world.m->c[0].mem, frame + HEAD, SIZE), 0);
			end();
		}
	}
}

/* A payload that the engine drops is read all the same: the frame after it is understood. */
static void test_packets_that_are_dropped(void)
{
	struct world_sock *s;
	struct burst b, after;
	u32 from;
	u64 taken;

	for (from = 0; from <= FAR; from++) {
		s = member(from);
		b = frame_make();
		taken = lane()->taken;
		/* Packets before it are lost. */
		b.psn = psn_add(b.psn, 5);
		join_burst_put(frame + JOIN_HDR, &b, b.src_dev, b.dst_dev);
		send_bytes(s, 0, HEAD + 100000);
		send_bytes(s, HEAD + 100000, sizeof(frame));
		CU_ASSERT_EQUAL(lane()->taken, taken + sizeof(frame));
		after = peer_write(8);
		CU_ASSERT_TRUE(peer_burst(s, &after));
		turns(2);
		CU_ASSERT_PTR_NOT_NULL(world_conn(s));
		CU_ASSERT_EQUAL(pair()->resp.epsn, psn_add(after.psn, 1));
		end();
	}
}

static void test_rest_is_a_retransmission(void)
{
	struct world_sock *s = member(0);
	struct burst b = frame_make();
	u64 taken;

	send_bytes(s, 0, HEAD + 100000);
	CU_ASSERT(psn_diff(pair()->resp.epsn, b.psn) > 0);
	world_hang_up(s);
	turns(2);
	CU_ASSERT_PTR_NULL(world_conn(s));
	s = peer_join(0, 0, JOIN_F_AES);
	CU_ASSERT_TRUE_FATAL(s && peer_begin(s) && peer_tables(s));
	turns(2);
	taken = lane()->taken;
	send_bytes(s, 0, HEAD + 50000);
	send_bytes(s, HEAD + 50000, sizeof(frame));
	check_done(&b, taken);
	CU_ASSERT_EQUAL(memcmp(world.m->c[0].mem, frame + HEAD, SIZE), 0);
	end();
}

static void test_malformed_frame_is_refused_at_once(void)
{
	struct world_sock *s = member(0);
	struct burst b = frame_make();

	b.npkts++;
	join_burst_put(frame + JOIN_HDR, &b, b.src_dev, b.dst_dev);
	CU_ASSERT_TRUE_FATAL(peer_put(s, frame, HEAD + 50000));
	turns(2);
	CU_ASSERT_PTR_NULL(world_conn(s));
	end();
}

/* How many bytes of the payload are in the file. The others are in the memory. */
static u32 count_direct(const u8 *file, const u8 *mem)
{
	const u8 *want = frame + HEAD;
	u32 i, n = 0, missing = 0;

	for (i = 0; i < SIZE; i++) {
		n += file[i] == want[i];
		missing += file[i] != want[i] && mem[i] != want[i];
	}
	CU_ASSERT_EQUAL(missing, 0);
	return n;
}

/*
 * Client 0 lends its memory. Its file gets what is read from the socket directly; what is copied
 * goes to its addresses, as here only the socket's reader knows of the file.
 */
static void test_payload_goes_from_the_socket_to_lent_pages(void)
{
	struct world_sock *s = member(0);
	struct burst b = frame_make();
	struct emu_client *m = &world.m->c[0];
	struct client cl = { .helper_fd = -1, .seg = m->seg };
	u64 taken = lane()->taken;
	u8 *file;

	cl.lent_fd = memfd_create("lent", MFD_CLOEXEC);
	CU_ASSERT_FATAL(cl.lent_fd >= 0 && !ftruncate(cl.lent_fd, EMU_AREA));
	file = mmap(NULL, EMU_AREA, PROT_READ | PROT_WRITE, MAP_SHARED, cl.lent_fd, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(file, MAP_FAILED);
	m->seg->lent.range[0] = (struct seg_lent){ .addr = (uintptr_t)m->mem, .len = EMU_AREA };
	m->seg->lent.n = 1;
	world.f->clients.by_id[0] = &cl;
	send_bytes(s, 0, HEAD + 30000);
	send_bytes(s, HEAD + 30000, HEAD + 100000);
	send_bytes(s, HEAD + 100000, sizeof(frame));
	check_done(&b, taken);
	world.f->clients.by_id[0] = NULL;
	CU_ASSERT(count_direct(file, m->mem) >= SIZE / 2);
	lent_map_drop(&cl.lent);
	munmap(file, EMU_AREA);
	close(cl.lent_fd);
	end();
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "packets are taken as they come", test_packets_are_taken_as_they_come },
		{ "packets that are dropped", test_packets_that_are_dropped },
		{ "the rest is a retransmission", test_rest_is_a_retransmission },
		{ "a malformed frame is refused at once", test_malformed_frame_is_refused_at_once },
		{ "payload goes from the socket to lent pages",
		  test_payload_goes_from_the_socket_to_lent_pages },
		{ NULL, NULL },
	};

	return cu_run("stream", tests);
}
