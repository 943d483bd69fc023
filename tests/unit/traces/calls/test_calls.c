/* SPDX-License-Identifier: MIT */
/*
 * Calls as lines of text: a line that was written is read as the same call, and a malformed one is
 * refused with the offending word.
 *
 * With arguments: each is a file of lines ("calls" of a recorded program), all of which must come
 * back as they were, but for calls with a destroyed object.
 */
#include "tests/lib/c/cu.h"
#include "traces/calls/desc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Objects are made up: an address says kind and ordinal. Devices likewise. */
#define FAKE(kind, ord) ((void *)(uintptr_t)(0x100000000ull * (kind) + 64ull * (ord)))

static struct ibv_device device;
static uint32_t bound_kind, bound_ord;

static uint32_t name(void *arg, enum vobj kind, const void *obj, bool fresh)
{
	(void)arg;
	(void)fresh;
	return (uintptr_t)obj / 0x100000000ull == kind ? (uint32_t)(uintptr_t)obj / 64 : 0;
}

static void *find(void *arg, enum vobj kind, uint32_t ord)
{
	(void)arg;
	return ord < 1u << 20 ? FAKE(kind, ord) : NULL;
}

static void bind_object(void *arg, enum vobj kind, uint32_t ord, void *obj)
{
	(void)arg;
	(void)obj;
	bound_kind = kind;
	bound_ord = ord;
}

static struct ibv_device *find_device(void *arg, const char *dev)
{
	(void)arg;
	snprintf(device.name, sizeof(device.name), "%s", dev);
	return &device;
}

static const struct vcall_env env = {
	.name = name, .find = find, .bind = bind_object, .device = find_device
};

static struct vcall_parsed parsed;
static struct vcall_text text;
static uint64_t facts[VCALL_FACTS];

/* Whether the part of a line that goes into the call is written again as it was read. */
static bool comes_back(const char *line, size_t len)
{
	const char *out = memmem(line, len, " = ", 3);
	uint32_t i;

	for (i = 0; i < VCALL_FACTS; i++)
		facts[i] = 1000 + i;
	if (vcall_parse(&parsed, line, len, facts, VCALL_FACTS, &env)) {
		printf("# %.*s\n# %s\n", (int)len, line, parsed.why);
		return false;
	}
	vcall_print_in(&text, parsed.call, parsed.args, &env);
	if (text.lost || text.len != (size_t)(out - line) ||
	    memcmp(text.text, line, text.len) != 0) {
		printf("# was %.*s\n# is  %s\n", (int)(out - line), line, text.text);
		return false;
	}
	for (i = 0; i < text.n_facts; i++)
		if (text.facts[i].value != 1000 + i)
			return false;
	return true;
}

static const char *const good[] = {
	"ibv_get_device_list = list \"rdmaemu0\"",
	"ibv_open_device device=\"a\\x20b\\x22\" = ctx1",
	"ibv_alloc_pd context=ctx1 = NULL ENOMEM",
	"ibv_reg_mr pd=pd2 addr=~ length=4096 "
	"access=IBV_ACCESS_LOCAL_WRITE|IBV_ACCESS_REMOTE_READ|0x40000000 = mr1",
	"ibv_advise_mr pd=pd1 advice=IBV_ADVISE_MR_ADVICE_PREFETCH flags=1 sg_list=2 "
	"sg_list[0].addr=~ sg_list[0].length=5 "
	"sg_list[0].lkey=~ sg_list[1].addr=~ sg_list[1].lkey=~ num_sge=2 = EOPNOTSUPP",
	"ibv_create_qp_ex context=ctx1 attr.send_cq=cq1 attr.cap.max_send_wr=16 "
	"attr.qp_type=IBV_QPT_RC "
	"attr.comp_mask=IBV_QP_INIT_ATTR_PD|IBV_QP_INIT_ATTR_SEND_OPS_FLAGS attr.pd=pd1 "
	"attr.send_ops_flags=IBV_QP_EX_WITH_SEND = qp1",
	"ibv_modify_qp qp=qp1 attr.qp_state=IBV_QPS_RTR attr.path_mtu=IBV_MTU_1024 attr.rq_psn=~ "
	"attr.dest_qp_num=~ "
	"attr.ah_attr.grh.dgid=00000000000000000000ffffc0000202 attr.ah_attr.grh.hop_limit=1 "
	"attr.ah_attr.is_global=1 attr.ah_attr.port_num=1 attr.max_dest_rd_atomic=1 "
	"attr.min_rnr_timer=12 "
	"attr_mask=IBV_QP_STATE|IBV_QP_AV|IBV_QP_PATH_MTU|IBV_QP_RQ_PSN|IBV_QP_MIN_RNR_TIMER|"
	"IBV_QP_MAX_DEST_RD_ATOMIC|IBV_QP_DEST_QPN = 0",
	"ibv_query_qp qp=qp1 attr_mask=IBV_QP_CAP = 0 attr.cap.max_send_wr=1",
	"ibv_get_async_event context=ctx1 = 0 event.event_type=IBV_EVENT_CQ_ERR event.element=cq1",
	"ibv_ack_async_event event.event_type=IBV_EVENT_QP_FATAL event.element=qp7 = void",
	"ibv_ack_async_event event.event_type=IBV_EVENT_PORT_ERR event.element=1 = void",
	"ibv_create_rwq_ind_table context=ctx1 attr.log_ind_tbl_size=1 attr.ind_tbl[0]=wq1 "
	"attr.ind_tbl[1]=wq2 = ind1",
	"ibv_create_flow qp=qp1 attr.type=IBV_FLOW_ATTR_NORMAL attr.num_of_specs=2 attr.port=1 "
	"attr.spec=001000000c0000002a000000 attr.spec=03100000100000000000000000000000 "
	"attr.spec.counters=counters1 = flow1",
	"rdma_reject id=id1 private_data=3:010203 private_data_len=3 = 0",
	"rdma_resolve_addr id=id1 src_addr=10.0.0.1:0 dst_addr=[fe80::1%2]:7471 timeout_ms=2000 = "
	"0",
	"rdma_bind_addr id=id1 addr=ib:"
	"1b00000000000000fe8000000000000000000000000000010000000000000000000000000000000000000000ff"
	"ffffff = -1 EINVAL",
	"rdma_connect id=id1 param.private_data=10:~~ param.private_data_len=10 "
	"param.retry_count=7 param.qp_num=~ = 0",
	"rdma_connect id=id1 param=- = 0",
	"rdma_getaddrinfo node=\"node1\" service=\"7471\" hints.ai_flags=RAI_PASSIVE "
	"hints.ai_qp_type=0 "
	"hints.ai_port_space=RDMA_PS_TCP = 0 res.ai_family=2",
	"rdma_init_qp_attr id=id1 attr.for_state=IBV_QPS_INIT = 0 attr.qp_state=IBV_QPS_INIT",
	"rdma_set_option id=id1 optname=1 optval=4:01000000 optlen=4 = 0",
};

static void test_there_and_back(void)
{
	uint32_t i;

	for (i = 0; i < VDESC_COUNT(good); i++)
		CU_ASSERT(comes_back(good[i], strlen(good[i])));
}

static const struct {
	const char *line;
	const char *why;
} bad[] = {
	{ "ibv_none x=1 = 0", "ibv_none: not a call" },
	{ "ibv_alloc_pd context=ctx1", "no \" = \"" },
	{ "ibv_alloc_pd context=qp1 = pd1", "context=qp1: expected ctx" },
	{ "ibv_alloc_pd context=ctx2000000 = pd1", "context=ctx2000000: no such object" },
	{ "ibv_alloc_pd context=ctx1 more=2 = pd1", "more=2: not expected here" },
	{ "ibv_reg_mr pd=pd1 addr=~ length=x = mr1", "length=x: expected a number" },
	{ "ibv_reg_mr pd=pd1 addr=~ access=IBV_ACCESS_NO = mr1", "access=IBV_ACCESS_NO: expected" },
	{ "ibv_query_port context=ctx1 port_num=99999999999999999999999 = 0", "expected a number" },
	{ "ibv_query_gid context=ctx1 port_num=1 index=0 gid=00 = 0", "gid=00: not expected here" },
	{ "ibv_attach_mcast qp=qp1 gid=00zz = 0", "gid=00zz: expected 32 hexadecimal digits" },
	{ "rdma_bind_addr id=id1 addr=10.0.0.1 = 0", "addr=10.0.0.1: expected ADDRESS:PORT" },
	{ "rdma_bind_addr id=id1 addr=10.0.0.1:70000 = 0", "expected ADDRESS:PORT" },
	{ "rdma_connect id=id1 param.private_data=99999:~ = 0", "a number that is not too large" },
	{ "rdma_connect id=id1 param.private_data=9:~ = 0", "a ~ for each eight bytes" },
	{ "rdma_reject id=id1 private_data=3:0102 private_data_len=3 = 0", "as many bytes" },
	{ "rdma_reject id=id1 private_data=3:010203 private_data_len=4 = 0", "fewer than the 4" },
	{ "rdma_reject id=id1 private_data_len=4 = 0", "private_data: fewer than the 4" },
	{ "rdma_connect id=id1 param.private_data=2:~ param.private_data_len=9 = 0",
	  "fewer than the 9" },
	{ "ibv_advise_mr pd=pd1 advice=0 sg_list=1 sg_list[0].length=1 num_sge=2 = 0",
	  "fewer than the 2" },
	{ "ibv_query_gid_table context=ctx1 max_entries=99999999 = 0",
	  "more than a call may take" },
	{ "ibv_create_rwq_ind_table context=ctx1 attr.log_ind_tbl_size=40 = ind1",
	  "more than 256" },
	{ "ibv_create_flow qp=qp1 attr.num_of_specs=200 = flow1", "200 more expected" },
	{ "ibv_create_flow qp=qp1 attr.num_of_specs=1 attr.spec=0110000009000000 = flow1",
	  "as its size says" },
	{ "ibv_open_device device=\"a\\q\" = ctx1", "a backslash before x" },
	{ "ibv_advise_mr pd=pd1 sg_list=100000 = 0", "a number that is not too large" },
};

static void test_refused(void)
{
	uint32_t i;

	for (i = 0; i < VDESC_COUNT(bad); i++) {
		CU_ASSERT_EQUAL(
			vcall_parse(&parsed, bad[i].line, strlen(bad[i].line), facts, 4, &env),
			-EINVAL);
		if (!strstr(parsed.why, bad[i].why))
			printf("# %s: %s\n", bad[i].line, parsed.why);
		CU_ASSERT_PTR_NOT_NULL(strstr(parsed.why, bad[i].why));
	}
	/* Fewer values than the line has. */
	CU_ASSERT_EQUAL(vcall_parse(&parsed, good[3], strlen(good[3]), facts, 0, &env), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(parsed.why, "more than the 0 values"));
}

/*
 * Each line cut at each place, and each of its bytes another: refused or read, within its bounds.
 */
static void test_mangled(void)
{
	char line[1024];
	uint32_t i, k;

	for (i = 0; i < VDESC_COUNT(good); i++) {
		size_t len = strlen(good[i]);

		for (k = 0; k < len; k++) {
			char *cut = malloc(k ? k : 1);

			memcpy(cut, good[i], k);
			vcall_parse(&parsed, cut, k, facts, 4, &env);
			free(cut);
			memcpy(line, good[i], len);
			line[k] = (char)(line[k] + 1 + (k * 7 + i) % 94);
			vcall_parse(&parsed, line, len, facts, 4, &env);
		}
	}
	CU_PASS("no sanitizer has spoken");
}

/*
 * A thread that waits for events after another one has destroyed the channel: the recorder knows
 * the object no more. A call with an unknown object that went well is another matter.
 */
static void test_stale(void)
{
	static const char *const stale = "rdma_get_cm_event channel=? = -1 EBADF";

	CU_ASSERT_EQUAL(vcall_parse(&parsed, stale, strlen(stale), facts, 0, &env), -EINVAL);
	CU_ASSERT(vcall_has_stale_object(stale));
	CU_ASSERT(vcall_has_stale_object("ibv_alloc_pd context=? = NULL EBADF"));
	CU_ASSERT(vcall_has_stale_object("ibv_dereg_mr mr=? = EINVAL"));
	CU_ASSERT_FALSE(vcall_has_stale_object("ibv_dereg_mr mr=? = 0"));
	CU_ASSERT_FALSE(vcall_has_stale_object("ibv_dereg_mr mr=mr1 = EINVAL"));
	CU_ASSERT_FALSE(vcall_has_stale_object("rdma_create_id channel=evch1 = 0 id=? x=-1 E"));
}

/* An object that a call created is bound to its name in the record. */
static void test_bind(void)
{
	static const char *const line = "ibv_alloc_pd context=ctx1 = pd12";
	static const char *const id =
		"rdma_create_id channel=evch1 ps=RDMA_PS_TCP = 0 id=id5 id.channel=evch3";
	struct rdma_cm_id made = { .channel = FAKE(VOBJ_EVCH, 1) };

	CU_ASSERT_EQUAL(vcall_parse(&parsed, line, strlen(line), facts, 0, &env), 0);
	vcall_bind_objects(&parsed, line, strlen(line), 4711, &env);
	CU_ASSERT_EQUAL(bound_kind, VOBJ_PD);
	CU_ASSERT_EQUAL(bound_ord, 12);
	CU_ASSERT_EQUAL(vcall_parse(&parsed, id, strlen(id), facts, 0, &env), 0);
	*(struct rdma_cm_id **)parsed.args[1] = &made;
	vcall_bind_objects(&parsed, id, strlen(id), 0, &env);
	CU_ASSERT_EQUAL(bound_kind, VOBJ_EVCH);
	CU_ASSERT_EQUAL(bound_ord, 3);
	/* A call that has failed has made nothing. */
	bound_ord = 0;
	vcall_bind_objects(&parsed, id, strlen(id), (uint64_t)-1, &env);
	CU_ASSERT_EQUAL(bound_ord, 0);
}

static int check_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int bad_lines = 0;

	if (!f) {
		perror(path);
		return 1;
	}
	while ((len = getline(&line, &size, f)) > 0)
		if (!vcall_has_stale_object(line) &&
		    !comes_back(line, (size_t)len - (line[len - 1] == '\n')))
			bad_lines++;
	free(line);
	fclose(f);
	return bad_lines;
}

int main(int argc, char **argv)
{
	int i, bad_lines = 0;

	for (i = 1; i < argc; i++)
		bad_lines += check_file(argv[i]);
	if (argc > 1)
		return bad_lines != 0;
	return cu_run("calls", (struct cu_test[]){ { "there and back", test_there_and_back },
						   { "refused", test_refused },
						   { "mangled", test_mangled },
						   { "stale", test_stale },
						   { "bound", test_bind },
						   { NULL, NULL } });
}
