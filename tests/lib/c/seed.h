/* SPDX-License-Identifier: MIT */
/**
 * DOC: programs with one mistake each, for the checker, and their twins without it:
 *
 *	app_check_FILE NAME wrong|right
 *
 * Two connected QPs with a CQ and a completion channel in one process.
 */
#ifndef TESTS_LIB_C_SEED_H
#define TESTS_LIB_C_SEED_H

#include "tests/lib/c/rc.h"

#include <errno.h>
#include <string.h>

#define SEED_DEPTH 8
#define SEED_BUF   4096
#define SEED_WAIT  20000

struct seed {
	bool wrong;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	uint8_t buf[SEED_BUF];
};

/** struct seed_case - a mistake: @run makes it if its seed is wrong. */
struct seed_case {
	const char *name;
	void (*run)(struct seed *s);
};

/** seed_opts - attributes of which the checker says nothing. */
extern const struct rc_opts seed_opts;

/** seed_must() - exit with a message and errno unless @good. */
static inline void seed_must(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

/** seed_open() - make the objects, with a CQ of @cqe entries, and connect the QPs; seed_close(). */
void seed_open(struct seed *s, int cqe);
/** seed_open_with() - the same, with these attributes of qp[0] and qp[1], whose PSN is one more. */
void seed_open_with(struct seed *s, int cqe, const struct rc_opts *first,
		    const struct rc_opts *second);
void seed_close(struct seed *s);
/** seed_connect_end() - make a queue pair that is connected with that of another process. */
struct ibv_qp *seed_connect_end(struct seed *s, struct end *other);
/** seed_write() - post a WRITE of 64 bytes to qp[0]. Return: as ibv_post_send(). */
int seed_write(struct seed *s, uint64_t wr_id, unsigned int flags, uint64_t addr, uint32_t lkey,
	       uint32_t rkey);
/** seed_write_buf() - the same, from the beginning of the buffer. */
int seed_write_buf(struct seed *s, uint64_t wr_id, unsigned int flags);
/** seed_receive() - post a receive to qp[1]. Return: as ibv_post_recv(). */
int seed_receive(struct seed *s, uint64_t wr_id);
/** seed_poll() - wait for a completion. Return: its status. */
enum ibv_wc_status seed_poll(struct seed *s);
/** seed_both_are_good() - whether the next two completions are. */
bool seed_both_are_good(struct seed *s);
/** seed_main() - run the case that the arguments name. */
int seed_main(int argc, char **argv, const struct seed_case *cases, size_t n);

#endif
