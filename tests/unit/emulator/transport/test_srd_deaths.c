/* SPDX-License-Identifier: MIT */
/*
 * SRD: a process dies, which sends or works for others.
 */
#include "tests/lib/engine/deaths.h"
#include "tests/unit/emulator/transport/srd_peer.h"

#define SEC 1000000000ULL

static struct emu *m;

static struct emu_qp dying, peer;

/* The sender dies within the call: the message has arrived or has not, and the peer goes on. */
static int after_death(struct emu *w, void *arg, bool died)
{
	struct cqe c;
	int came = 0;

	(void)arg;
	if (died)
		emu_reap(w);
	emu_run(w, w->clock + 20 * SEC);
	while (emu_poll(w, &peer.rcq, &c, w->c[1].mem)) {
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		came++;
	}
	CU_ASSERT_TRUE(came <= 2);
	return came;
}

static void test_deaths(void)
{
	struct emu_deaths d;
	u32 ah;

	m = srd_pair(16, &dying, &peer, &ah);
	emu_recv(m, &peer, 1, m->c[1].mem, 64);
	emu_recv(m, &peer, 2, m->c[1].mem + 64, 64);
	srd_post(m, &dying, WR_SEND, 1, 0, 8, ah, &peer);
	srd_post(m, &dying, WR_SEND, 2, 0, 60, ah, &peer);
	d = deaths_ring(m, &dying, 37, after_death);
	CU_ASSERT_TRUE(d.seen[0] && d.seen[1] && d.seen[2]);
	emu_free(m);
}

/* The receiver's messages of another sender survive the death of one that holds the token. */
static int after_peer_death(struct emu *w, void *arg, bool died)
{
	struct cqe c;
	u32 seen = 0, done = 0;

	(void)arg;
	if (died)
		emu_reap(w);
	emu_run(w, w->clock + 20 * SEC);
	while (emu_poll(w, &peer.rcq, &c, w->c[2].mem)) {
		CU_ASSERT_FALSE(seen & 1u << c.imm);
		seen |= 1u << c.imm;
	}
	while (emu_poll(w, &dying.scq, &c, NULL)) {
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		done++;
	}
	/* Each came once, and its sender knows. */
	CU_ASSERT_EQUAL(seen, 15);
	CU_ASSERT_EQUAL(done, 4);
	return 0;
}

static void run_token(struct emu *w, void *arg)
{
	(void)arg;
	if (engine_try(&w->c[0].e))
		engine_leave(&w->c[0].e);
}

static void test_deaths_of_another(void)
{
	struct emu_deaths d = { .call = run_token, .after = after_peer_death };
	u32 ah, i;

	m = srd_world(1);
	dying = srd_qp(m, 1, 16); /* client 0 runs the engine for it, and dies */
	peer = srd_qp(m, 2, 16);
	ah = srd_address(m, 1, false);
	for (i = 0; i < 4; i++) {
		emu_recv(m, &peer, i, m->c[2].mem + 64 * i, 64);
		srd_post(m, &dying, WR_SEND_WITH_IMM, i, 0, 8, ah, &peer)->imm = i;
	}
	emu_publish(m, &dying);
	d.step = emu_death_step(37);
	deaths_run(m, &d);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "a sender dies", test_deaths },
	{ "a process dies that works for others", test_deaths_of_another },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("SRD, deaths", tests);
}
