/* SPDX-License-Identifier: MIT */
/*
 * kill -9 of either side in each phase of a handshake: its peer has an event, as with a kernel,
 * which closes the device of a dead process.
 *	app_cm_kill
 */
#include "tests/lib/c/rdmacm.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define A	 0
#define LISTENER 8
#define B	 9
#define CH_A	 0
#define CH_B	 2

enum phase {
	LISTENING, /* and nothing asked for */
	ASKED, /* the request waits */
	TAKEN, /* it was got */
	ACCEPTED, /* the client has the answer and has not yet confirmed */
	ESTABLISHED,
	DISCONNECTING, /* one side has said so */
	PHASES
};

static const char *const phase_str[] = { "listening", "asked",	     "request taken",
					 "accepted",  "established", "disconnecting" };

/* No number twice: that would be a stale connection. */
static uint32_t qpn = 0x100;

/* Bring a connection that far. */
static void reach(enum phase phase, struct vb_side *a, struct vb_side *b, unsigned int port)
{
	struct cm_parm p = cm_parm(0, 0);
	struct cm_ev ev;

	if (phase == LISTENING)
		return;
	if (phase >= ESTABLISHED) {
		ok(cm_pair(a, A, b, B, port), "a connection");
		return;
	}
	/* Without a QP the client's program sees the answer. */
	cm_resolved(a, A, CH_A, RDMA_PS_TCP, vb_addr(b, false), port);
	p.qpn = qpn++;
	ok(!cm_connect(a, A, &p), "rdma_connect");
	if (phase == ASKED) {
		ok(cm_waits(b, CH_B), "the request is there");
		return;
	}
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	if (phase == TAKEN)
		return;
	p.qpn = qpn++;
	ok(!cm_accept(b, B, &p), "rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, &ev, "CONNECT_RESPONSE");
}

static void die_now(struct vb_side *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

static void server_dies(struct vb_side *a, struct vb_side *b, enum phase phase)
{
	unsigned int port;
	struct cm_parm p = cm_parm(0, 0);

	note("the server dies: %s", phase_str[phase]);
	ok(!cm_chan(b, CH_B), "rdma_create_event_channel");
	port = cm_listening(b, LISTENER, CH_B, RDMA_PS_TCP, "0.0.0.0", 4);
	reach(phase, a, b, port);
	if (phase == DISCONNECTING) {
		ok(!cm_disconnect(a, A), "rdma_disconnect");
		cm_expect(b, CH_B, B, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "DISCONNECTED");
	}
	die_now(b);
	if (phase == LISTENING) {
		/* Its death is noticed a moment later. */
		for (int i = 0; i < 1000; i++) {
			struct cm_ev ev;

			cm_resolved(a, A, CH_A, RDMA_PS_TCP, vb_addr(b, false), port);
			p.qpn = qpn++;
			if (cm_connect(a, A, &p) || !cm_event(a, CH_A, VB_WAIT, CM_NONE, &ev))
				die("no answer");
			if (ev.status == 8 || i == 999) {
				ok(ev.event == RDMA_CM_EVENT_REJECTED && ev.status == 8,
				   "REJECTED, 8: nobody listens");
				break;
			}
			cm_destroy(a, A);
		}
	} else if (phase < ESTABLISHED) {
		cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED, 28");
	} else {
		cm_expect(a, CH_A, A, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "DISCONNECTED");
		ok(phase == DISCONNECTING || !cm_disconnect(a, A), "rdma_disconnect");
		ok(!cm_qp_destroy(a, A), "rdma_destroy_qp");
	}
	ok(!cm_destroy(a, A), "rdma_destroy_id");
}

static void client_dies(struct vb_side *a, struct vb_side *b, enum phase phase)
{
	unsigned int port = cm_listening(b, LISTENER, CH_B, RDMA_PS_TCP, "0.0.0.0", 4);
	struct cm_parm p = cm_parm(0, 0);

	note("the client dies: %s", phase_str[phase]);
	ok(!cm_chan(a, CH_A), "rdma_create_event_channel");
	reach(phase, a, b, port);
	if (phase == DISCONNECTING) {
		ok(!cm_disconnect(b, B), "rdma_disconnect");
		cm_expect(a, CH_A, A, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "DISCONNECTED");
	}
	die_now(a);
	switch (phase) {
	case ASKED:
		cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL,
			  "the request is still there");
		break;
	case TAKEN:
		break;
	case ACCEPTED:
		cm_expect(b, CH_B, B, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED, 28");
		break;
	default:
		cm_expect(b, CH_B, B, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "DISCONNECTED");
		ok(phase == DISCONNECTING || !cm_disconnect(b, B), "rdma_disconnect");
		ok(!cm_qp_destroy(b, B), "rdma_destroy_qp");
	}
	if (phase == ASKED || phase == TAKEN) {
		uint64_t end = now_ns() + VB_WAIT * 1000000ull;

		/* Its death is noticed a moment later. */
		while (!cm_qp(b, B) && now_ns() < end) {
			cm_qp_destroy(b, B);
			usleep(20000);
		}
		cm_quiet(b, CH_B, "no event for a request that is not accepted");
		is_errno(cm_accept(b, B, &p), EINVAL, "rdma_accept when nobody is there any more");
	}
	ok(!cm_destroy(b, B) && !cm_destroy(b, LISTENER), "rdma_destroy_id");
}

int main(void)
{
	struct vb_side *victim[2 * PHASES], *mine;

	for (int i = 0; i < 2 * PHASES; i++)
		victim[i] = vb_fork();
	mine = vb_local();
	ok(!cm_chan(mine, CH_A) && !cm_chan(mine, CH_B), "rdma_create_event_channel");
	for (int i = 0; i < PHASES; i++)
		server_dies(mine, victim[i], (enum phase)i);
	for (int i = ASKED; i < PHASES; i++)
		client_dies(victim[PHASES + i], mine, (enum phase)i);
	kill(victim[PHASES]->pid, SIGKILL);
	cm_quiet(mine, CH_A, "no event is left");
	cm_chan_close(mine, CH_A);
	cm_chan_close(mine, CH_B);
	vb_close(mine);
	return tap_failed != 0;
}
