/* SPDX-License-Identifier: MIT */
/* VT_CALL: carries a call of the control path out again, and compares its text. */
#include "traces/calls/desc.h"
#include "traces/replay/driver_qp.h"
#include "traces/replay/play.h"
#include "traces/replay/memory.h"
#include "traces/replay/objects.h"
#include "traces/replay/policy.h"
#include "traces/replay/recv_place.h"
#include "traces/compare/compare.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/identity.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

/* Publishes an MR that the call has registered or changed; other records depend on it. */
static void call_publish_mr(struct rp_thread *t, const struct vt_rec *rec, uint64_t ret)
{
	const struct vcall_parsed *c = &t->parsed;
	struct rp_prog *g = t->prog;
	const uint64_t *a = c->args;
	struct ibv_mr *mr = (void *)(uintptr_t)ret;
	uint64_t addr = 0, iova = 0;
	uint32_t ord, i;

	if (c->call == VCALL_ibv_rereg_mr)
		mr = (void *)(uintptr_t)a[0];
	if (!mr)
		return;
	for (ord = 0, i = 1; i < g->n_obj[VOBJ_MR]; i++)
		if (rp_obj(g, VOBJ_MR, i) == mr)
			ord = i;
	if (!ord || !vt_rec_fact(g->p, rec, true, "addr", &addr))
		return;
	switch (c->call) {
	case VCALL_ibv_reg_mr_iova:
	case VCALL_ibv_reg_mr_iova2:
		if (vt_rec_fact(g->p, rec, false, "iova", &iova))
			rp_mr_bind(g, ord, iova, mr->length, mr->addr, (int64_t)(a[3] - iova));
		break;
	case VCALL_ibv_reg_mr:
		if (a[3] & IBV_ACCESS_ZERO_BASED) {
			rp_mr_bind(g, ord, 0, mr->length, mr->addr, 0);
			break;
		}
		/* Fall through */
	case VCALL_ibv_rereg_mr:
		/* Changing the PD keeps the contents. */
		if (c->call == VCALL_ibv_rereg_mr &&
		    !(a[1] & (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS)))
			break;
		rp_mr_bind(g, ord, addr, mr->length, mr->addr,
			   (int64_t)((uint64_t)(uintptr_t)mr->addr - addr));
		break;
	default:
		/* Device memory, the null MR, an imported MR: not the program's memory. */
		rp_mr_bind(g, ord, 0, 0, NULL, 0);
	}
}

static void call_publish_rest(struct rp_thread *t, const char *line, uint64_t ret)
{
	const struct vcall_parsed *c = &t->parsed;
	struct rp_prog *g = t->prog;
	struct rp_made *made;
	uint32_t i;

	if (c->call == VCALL_ibv_get_srq_num && !ret) {
		for (i = 1; i < g->n_obj[VOBJ_SRQ]; i++)
			if (rp_obj(g, VOBJ_SRQ, i) == (void *)(uintptr_t)c->args[0])
				g->w->made[g->nth][RP_SRQ][i].num =
					*(uint32_t *)(uintptr_t)c->args[1];
	} else if (c->call == VCALL_ibv_bind_mw && !ret) {
		made = g->w->made[g->nth][RP_MW];
		for (i = 1; i < g->n_obj[VOBJ_MW]; i++)
			if (rp_obj(g, VOBJ_MW, i) == (void *)(uintptr_t)c->args[1])
				made[i].num = ((struct ibv_mw *)(uintptr_t)c->args[1])->rkey;
	} else if (c->call == VCALL_ibv_dereg_mr) {
		rp_mr_unbind(g, rp_line_object(line, VOBJ_MR, " mr="));
	} else if (strstr(line + c->out, " id.src=")) {
		i = rp_line_object(line, VOBJ_ID, " id=");
		if (i)
			rp_port_publish(g, i);
	}
}

/* Notes which fields the completions of an extended CQ have. */
static void call_note_cq_ex(struct rp_thread *t, uint64_t ret)
{
	const struct vcall_parsed *c = &t->parsed;
	struct rp_prog *g = t->prog;
	uint32_t i;

	if (c->call != VCALL_ibv_create_cq_ex)
		return;
	for (i = 1; i < g->n_obj[VOBJ_CQ]; i++) {
		if (rp_obj(g, VOBJ_CQ, i) != (void *)(uintptr_t)ret)
			continue;
		g->cq[i].ex = true;
		g->cq[i].ex_flags = ((struct ibv_cq_init_attr_ex *)(uintptr_t)c->args[1])->wc_flags;
	}
}

/* A QP's queue is empty after a reset. */
static void call_reset_qp(struct rp_thread *t)
{
	const struct vcall_parsed *c = &t->parsed;
	const struct ibv_qp_attr *attr;
	struct rp_prog *g = t->prog;
	struct rp_queue *q;
	struct rp_recv *r;
	uint32_t i;

	if (c->call != VCALL_ibv_modify_qp || !(c->args[2] & IBV_QP_STATE))
		return;
	attr = (void *)(uintptr_t)c->args[1];
	if (attr->qp_state != IBV_QPS_RESET)
		return;
	for (i = 1; i < g->n_obj[VOBJ_QP]; i++) {
		if (rp_obj(g, VOBJ_QP, i) != (void *)(uintptr_t)c->args[0])
			continue;
		q = &g->rq[i];
		for (r = q->first; r; r = r->next)
			rp_place_left(g, r->wr);
		q->unsure = false;
		*q->last = g->free_recv;
		g->free_recv = q->first;
		q->first = NULL;
		q->last = &q->first;
	}
}

/* An XRC domain is identified by its file. Older traces only have its descriptor. */
static int xrcd_file_for(struct rp_prog *g, int was)
{
	struct rp_file *f;

	for (f = g->file; f; f = f->next)
		if (f->was == was)
			return f->fd;
	f = malloc(sizeof(*f));
	if (!f)
		return -1;
	f->was = was;
	f->fd = memfd_create("rdmaemu-replay-xrcd", MFD_CLOEXEC);
	f->next = g->file;
	g->file = f;
	return f->fd;
}

/*
 * Returns the recorded key of the object that a call creates, if a live program may get it. 0:
 * none.
 */
static uint32_t call_announced_rkey(const struct rp_thread *t, const struct vt_rec *rec)
{
	uint64_t key = 0;

	switch (t->parsed.call) {
	case VCALL_ibv_reg_mr:
	case VCALL_ibv_reg_mr_iova:
	case VCALL_ibv_reg_mr_iova2:
	case VCALL_ibv_alloc_mw:
		return t->prog->w->live && vt_rec_fact(t->prog->p, rec, true, "rkey", &key)
			       ? (uint32_t)key
			       : 0;
	default:
		return 0;
	}
}

/* Requests the next key from the emulator; other devices do not support it. */
static void request_next_key(uint32_t key)
{
	static void (*next_key)(uint32_t key);

	if (!next_key)
		next_key = (void (*)(uint32_t))dlsym(RTLD_DEFAULT, "rdmaemu_next_key");
	if (next_key)
		next_key(key);
}

/* Stand-ins for the program's allocators, which may have failed in the record. */
static __thread bool refuse;

static void *parent_domain_alloc(struct ibv_pd *pd, void *context, size_t size, size_t align,
				 uint64_t type)
{
	(void)pd, (void)context, (void)size, (void)align, (void)type;
	return refuse ? NULL : IBV_ALLOCATOR_USE_DEFAULT;
}

static void parent_domain_free(struct ibv_pd *pd, void *context, void *ptr, uint64_t type)
{
	(void)pd, (void)context, (void)ptr, (void)type;
}

/* Changes the protection of the memory for the duration of a call. */
static void call_protect_sges(const struct vcall_parsed *c, int prot)
{
	const struct ibv_sge *sge = (void *)(uintptr_t)c->args[3];
	uint64_t i, from, to;

	for (i = 0; sge && i < c->args[4]; i++) {
		from = sge[i].addr & ~(uint64_t)(PAGE - 1);
		to = (sge[i].addr + sge[i].length + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		mprotect((void *)(uintptr_t)from, to - from, prot);
	}
}

/* Gives an XRC domain the file of this run. Returns false: no memory. */
static bool call_prepare_xrcd(struct rp_prog *g, const struct vcall_parsed *c, const char *line)
{
	struct ibv_xrcd_init_attr *xrcd = (void *)(uintptr_t)c->args[1];

	/* Older traces have the descriptor's number here; then each program has its own files. */
	if (!xrcd || strstr(line, " attr.fd=~") || strstr(line + c->out, "NULL EBADF") ||
	    !(xrcd->comp_mask & IBV_XRCD_INIT_ATTR_FD) || xrcd->fd < 0)
		return true;
	pthread_mutex_lock(&g->lock);
	xrcd->fd = xrcd_file_for(g, xrcd->fd);
	pthread_mutex_unlock(&g->lock);
	return xrcd->fd >= 0;
}

static void call_prepare_domain(const struct vcall_parsed *c, const char *line)
{
	struct ibv_parent_domain_init_attr *domain = (void *)(uintptr_t)c->args[1];

	if (!domain || !(domain->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) ||
	    strstr(line + c->out, "NULL EINVAL"))
		return;
	domain->alloc = parent_domain_alloc;
	domain->free = parent_domain_free;
}

/* Replaces arguments that cannot be used as recorded. */
static bool call_prepare_args(struct rp_thread *t, const char *line)
{
	struct vcall_parsed *c = &t->parsed;
	struct rp_prog *g = t->prog;

	refuse = strstr(line + c->out, "NULL ENOMEM");
	switch (c->call) {
	case VCALL_ibv_get_device_list:
	case VCALL_rdma_get_devices:
		/* The program passed NULL for the number. */
		if (!strstr(line + c->out, "num_devices="))
			c->args[0] = 0;
		return true;
	case VCALL_ibv_open_xrcd:
		return call_prepare_xrcd(t->prog, c, line);
	case VCALL_ibv_alloc_parent_domain:
		call_prepare_domain(c, line);
		return true;
	case VCALL_ibv_destroy_cq:
		if (!strncmp(line + c->out, "0", 1) && c->args[0])
			rp_cq_ack_rest(g, (void *)(uintptr_t)c->args[0]);
		return true;
	case VCALL_rdma_destroy_id:
		rp_policy_drop_events(g, (void *)(uintptr_t)c->args[0]);
		return true;
	case VCALL_ibv_reg_mr:
	case VCALL_ibv_reg_mr_iova:
	case VCALL_ibv_reg_mr_iova2:
		if (strstr(line + c->out, "NULL EFAULT"))
			c->args[1] = rp_addr_unreadable(c->args[1]);
		return true;
	case VCALL_ibv_rereg_mr:
		if (strstr(line + c->out, " EFAULT"))
			c->args[3] = rp_addr_unreadable(c->args[3]);
		return true;
	case VCALL_rdma_get_cm_event:
		/* The program passed NULL: with a pointer, the call would wait for an event. */
		if (!strncmp(line + c->out, "-1 EINVAL", 9))
			c->args[1] = 0;
		return true;
	case VCALL_ibv_advise_mr:
		/* The program had unmapped the memory after registering it. */
		if (!strncmp(line + c->out, "EFAULT", 6))
			call_protect_sges(c, PROT_NONE);
		return true;
	default:
		return true;
	}
}

/* Returns the descriptor that the program had set to O_NONBLOCK, or -1. */
static int call_channel_fd(const struct vcall_parsed *c)
{
	const struct rdma_event_channel *ch = (void *)(uintptr_t)c->args[0];
	const struct vfield *arg = vcall_descs[c->call].args;

	if (!vcall_descs[c->call].n_args || !ch)
		return -1;
	if (arg->obj == VOBJ_ID)
		ch = ((struct rdma_cm_id *)(uintptr_t)c->args[0])->channel;
	else if (arg->obj == VOBJ_CTX)
		return ((struct ibv_context *)(uintptr_t)c->args[0])->async_fd;
	else if (arg->obj != VOBJ_EVCH)
		return -1;
	return ch ? ch->fd : -1;
}

/*
 * Checks that a region which a live program may access has the recorded key and address, since the
 * live program gets those.
 */
static bool call_check_announced(struct rp_thread *t, const struct vt_rec *rec, const char *line,
				 uint32_t announced)
{
	uint64_t addr;

	if (!strstr(line, "IBV_ACCESS_REMOTE") ||
	    !vt_rec_fact(t->prog->p, rec, true, "addr", &addr))
		return true;
	if (rp_key_map(t->prog, announced, rec->end, &(int64_t){ 0 }) != announced)
		return rp_fail_rec(t, rec,
				   "the region did not get rkey 0x%x, which the live program uses",
				   announced);
	if (rp_addr_map(t->prog, addr) != addr)
		return rp_fail_rec(
			t, rec,
			"the region is at 0x%llx, but the live program uses the recorded "
			"0x%llx, which is not free here",
			(unsigned long long)rp_addr_map(t->prog, addr), (unsigned long long)addr);
	return true;
}

static uint64_t call_invoke(struct rp_thread *t, const struct vt_rec *rec, const char *want)
{
	const struct vcall_parsed *c = &t->parsed;

	if (rp_is_driver_qp(c, want))
		return rp_driver_qp_create(c);
	if (t->prog->w->unexpected == RP_FAIL || c->call != VCALL_rdma_get_cm_event ||
	    strncmp(want, "0 ", 2) != 0)
		return rp_call_invoke(c->call, c->args);
	return (uint64_t)rp_policy_get_event(t, rec, want, (void *)(uintptr_t)c->args[0],
					     (void *)(uintptr_t)c->args[1]);
}

/* Carries the call out in the conditions of the record. Sets @err to errno. */
static uint64_t call_carry_out(struct rp_thread *t, const struct vt_rec *rec, const char *want,
			       int *err)
{
	const struct vcall_parsed *c = &t->parsed;
	int fd = strncmp(want, "-1 EAGAIN", 9) ? -1 : call_channel_fd(c);
	int flags = fd < 0 ? 0 : fcntl(fd, F_GETFL);
	uint64_t ret;

	if (fd >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	errno = 0;
	ret = call_invoke(t, rec, want);
	*err = errno;
	if (c->call == VCALL_ibv_advise_mr && !strncmp(want, "EFAULT", 6))
		call_protect_sges(c, PROT_READ | PROT_WRITE);
	if (fd >= 0)
		fcntl(fd, F_SETFL, flags);
	__atomic_add_fetch(&t->prog->w->share->count.calls, 1, __ATOMIC_RELAXED);
	return ret;
}

/* The line with the values of the local devices. Returns NULL: it does not fit. */
static const char *call_local_line(struct rp_thread *t, const char *line, size_t *len)
{
	if (!t->prog->map)
		return line;
	if (!t->mapped)
		t->mapped = malloc(VT_MAX_LINE);
	if (!t->mapped || cmp_line_remap(t->prog->map, line, t->mapped, VT_MAX_LINE, len))
		return NULL;
	return t->mapped;
}

bool rp_play_call(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_call *call = VT_BODY(vt_call, rec);
	struct vcall_parsed *c = &t->parsed;
	struct vcall_env env = rp_env(t);
	const char *line, *want;
	int err;
	uint32_t announced;
	uint64_t ret;
	size_t len;

	t->when = rec->begin;
	line = vt_rec_line(t->prog->p, rec, &len);
	line = call_local_line(t, line, &len);
	if (!line)
		return rp_fail_rec(t, rec, "the line does not fit with the local values");
	if (vcall_has_stale_object(line))
		return true;
	if (vcall_parse(c, line, len, call->fact, call->n_facts, &env))
		return rp_fail_rec(t, rec, "%s", c->why);
	if (!call_prepare_args(t, line))
		return rp_fail_rec(t, rec, "no memory");
	announced = call_announced_rkey(t, rec);
	if (announced)
		request_next_key(announced);
	want = line + c->out;
	ret = call_carry_out(t, rec, want, &err);
	t->text.len = t->text.n_facts = 0;
	t->text.lost = false;
	t->text.text[0] = '\0';
	if (announced && !ret && err == EBUSY)
		return rp_fail_rec(
			t, rec,
			"rkey 0x%x, which the live program is to use, already belongs to "
			"one of its own regions",
			announced);
	if (!vcall_error(c->call, ret, err)) {
		pthread_mutex_lock(&t->prog->lock);
		vcall_bind_objects(c, line, len, ret, &env);
		call_publish_mr(t, rec, ret);
		call_publish_rest(t, line, ret);
		call_note_cq_ex(t, ret);
		call_reset_qp(t);
		pthread_mutex_unlock(&t->prog->lock);
	}
	vcall_print_out(&t->text, c->call, c->args, ret, err, &env);
	if (!rp_result_is_same(t, line, want, t->text.text + strlen(" = ")) &&
	    !cmp_result_is_tolerated(t->prog->map, line))
		return rp_diverge(t, rec, "the result", want, t->text.text + strlen(" = "));
	return !announced || call_check_announced(t, rec, line, announced);
}
