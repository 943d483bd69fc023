/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu trace show|stat|diff`: their arguments, and what they share.
 */
#include "fabric/common/json.h"
#include "fabric/cli/trace/trace.h"

#include <stdlib.h>

const char *trace_program_name(const struct vt_program *p)
{
	const char *name = vt_info_get(&p->about, "name");

	return name ? name : "?";
}

bool trace_program_is_wanted(const struct opts *o, const struct vt_program *p)
{
	const char *pid = vt_info_get(&p->about, "pid");
	char num[16];

	if (!o->program[0])
		return true;
	snprintf(num, sizeof(num), "p%u", p->num);
	return !strcmp(o->program, num) || !strcmp(o->program, trace_program_name(p)) ||
	       (pid && !strcmp(o->program, pid));
}

void trace_queue_name(const struct vt_rec *rec, char *text, size_t size)
{
	bool srq = rec->kind == VT_POST_SRQ || rec->kind == VT_POST_OPS;
	const char *kind = srq ? "srq" : rec->kind == VT_POST_WQ ? "wq" : "qp";

	snprintf(text, size, "%s%u", kind, VT_BODY(vt_post, rec)->obj);
}

const char *trace_wr_opcode_name(const struct vt_rec *rec, const struct vt_wr *wr)
{
	static const char *const ops[] = {
		[VT_TAG_ADD] = "TAG_ADD",
		[VT_TAG_DEL] = "TAG_DEL",
		[VT_TAG_SYNC] = "TAG_SYNC",
	};

	if (rec->kind == VT_POST_OPS)
		return wr->opcode < ARRAY_SIZE(ops) ? ops[wr->opcode] : "?";
	return vt_is_recv(rec->kind) ? "RECV" : ib_wr_opcode_name(wr->opcode);
}

u64 trace_wr_bytes(const struct vt_wr *wr)
{
	const struct vt_sge *sge = vt_wr_sge(wr);
	u64 sum = 0;
	u32 i;

	if (wr->payload)
		return wr->payload;
	for (i = 0; i < wr->n_sge; i++)
		sum += sge[i].len;
	return sum;
}

const char *trace_wc_opcode_name(const struct vt_wc *wc)
{
	static const char *const names[] = {
		[WCO_SEND] = "SEND",	       [WCO_RDMA_WRITE] = "RDMA_WRITE",
		[WCO_RDMA_READ] = "RDMA_READ", [WCO_COMP_SWAP] = "COMP_SWAP",
		[WCO_FETCH_ADD] = "FETCH_ADD", [WCO_BIND_MW] = "BIND_MW",
		[WCO_LOCAL_INV] = "LOCAL_INV", [WCO_TSO] = "TSO",
		[WCO_FLUSH] = "FLUSH",	       [WCO_ATOMIC_WRITE] = "ATOMIC_WRITE",
		[WCO_RECV] = "RECV",	       [WCO_RECV_RDMA_WITH_IMM] = "RECV_RDMA_WITH_IMM",
		[WCO_TM_ADD] = "TM_ADD",       [WCO_TM_DEL] = "TM_DEL",
		[WCO_TM_SYNC] = "TM_SYNC",     [WCO_TM_RECV] = "TM_RECV",
		[WCO_TM_NO_TAG] = "TM_NO_TAG",
	};

	if (wc->status != WCS_SUCCESS || wc->opcode >= ARRAY_SIZE(names) || !names[wc->opcode])
		return "-";
	return names[wc->opcode];
}

static int trace_dir_open(struct vt_dir *d, const char *path)
{
	struct vt_error err;

	return vt_dir_open(d, path, &err) ? print_error("%s", err.text) : 0;
}

/*
 * Report the wanted programs of which nothing was recorded. Return: 0, or -1 if that is all of
 * them.
 */
static int trace_dir_print_empty(const struct vt_dir *d, const struct opts *o)
{
	struct vt_error err;
	int ret = -1;
	u32 i;

	for (i = 0; i < d->n_progs; i++) {
		if (!trace_program_is_wanted(o, &d->prog[i]))
			continue;
		if (vt_program_is_recorded(d, &d->prog[i], &err))
			print_error("%s", err.text);
		else
			ret = 0;
	}
	return ret;
}

int trace_dir_open_one(struct vt_dir *d, const struct opts *o, const char *command, int argc,
		       char **argv)
{
	char names[512];
	u32 i;

	if (argc != 1)
		return print_error("%s: expected one trace directory; see 'rdmaemu %s --help'",
				   command, command);
	if (trace_dir_open(d, argv[0]))
		return -1;
	for (i = 0; i < d->n_progs; i++)
		if (trace_program_is_wanted(o, &d->prog[i]))
			return trace_dir_print_empty(d, o);
	return print_error("no program '%s' in %s: expected one of %s", o->program, argv[0],
			   vt_dir_names(d, names, sizeof(names)));
}

int verb_trace_diff(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	static struct vt_dir a, b;
	struct json_object *json;
	int n;

	(void)p;
	if (argc != 2) {
		print_error("trace diff: expected two trace directories; see 'rdmaemu trace diff "
			    "--help'");
		return EXIT_USAGE;
	}
	if (trace_dir_open(&a, argv[0]) || trace_dir_open(&b, argv[1]) ||
	    trace_dir_print_empty(&a, o) || trace_dir_print_empty(&b, o))
		return EXIT_USAGE;
	json = o->json ? json_object_new_array() : NULL;
	n = trace_diff_dirs(&a, &b, o, json);
	if (json)
		json_print(stdout, json);
	vt_dir_close(&a);
	vt_dir_close(&b);
	if (n < 0) {
		print_error("trace diff: no memory");
		return EXIT_USAGE;
	}
	return n > 0;
}
