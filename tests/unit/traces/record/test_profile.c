/* SPDX-License-Identifier: MIT */
/*
 * The profile that a recorder makes of a card: valid whatever the card reports, with the card's
 * values as far as profiles allow them.
 */
#include "fabric/common/profile.h"
#include "tests/lib/c/cu.h"
#include "libtap/next_symbol.h"
#include "traces/record/profile.h"
#include "traces/record/session.h"

#include <endian.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* --- what traces/record/profile.c has of others --- */

struct rec_state rec;
static char text[16384];

int vt_writer_put_dir_file(struct vt_writer *w, const char *name, const char *from, size_t len)
{
	(void)w;
	CU_ASSERT_STRING_EQUAL(name, "profile");
	CU_ASSERT_FATAL(len < sizeof(text));
	memcpy(text, from, len);
	text[len] = '\0';
	return 0;
}

static struct ibv_device_attr_ex attr;
static struct ibv_port_attr port;
static u16 pkeys[16];

static int query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *a, size_t size)
{
	(void)ctx;
	(void)input;
	CU_ASSERT_EQUAL(size, sizeof(attr));
	*a = attr;
	return 0;
}

static int query_port(struct ibv_context *ctx, uint8_t nr, struct ibv_port_attr *a, size_t size)
{
	(void)ctx;
	CU_ASSERT(nr == 1 && size == sizeof(port));
	*a = port;
	return 0;
}

static int query_pkey(struct ibv_context *ctx, uint8_t nr, int index, __be16 *pkey)
{
	(void)ctx;
	(void)nr;
	*pkey = htobe16(pkeys[index]);
	return 0;
}

static int query_gid(struct ibv_context *ctx, uint8_t nr, int index, union ibv_gid *gid)
{
	(void)ctx;
	(void)nr;
	(void)index;
	memset(gid, 0, sizeof(*gid));
	gid->global.subnet_prefix = htobe64(0xfec0000000000001);
	return 0;
}

void *tap_next_symbol_find(void **slot, const char *name)
{
	return *slot = !strcmp(name, "ibv_query_pkey")	? (void *)query_pkey
		       : !strcmp(name, "ibv_query_gid") ? (void *)query_gid
							: NULL;
}

/* Not reached: the context has functions of its own. */
int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *a)
{
	(void)ctx;
	(void)a;
	return ENOSYS;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *ctx, uint8_t nr, struct _compat_ibv_port_attr *a)
{
	(void)ctx;
	(void)nr;
	(void)a;
	return ENOSYS;
}

int print_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}

/* --- cards --- */

/*
 * The profile that comes of a device of that name, as the emulator reads it. Returns whether it
 * does.
 */
static bool made(struct profile *p, const char *name, int vectors, u32 devices)
{
	static struct ibv_device dev;
	static struct verbs_context v;
	char path[] = "/tmp/rdmaemu_card.XXXXXX";
	int fd = mkstemp(path), ret;

	CU_ASSERT_FATAL(fd >= 0);
	memset(&v, 0, sizeof(v));
	snprintf(dev.name, sizeof(dev.name), "%s", name);
	v.sz = sizeof(v);
	v.query_device_ex = query_device_ex;
	v.query_port = query_port;
	v.context.device = &dev;
	v.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	v.context.num_comp_vectors = vectors;
	text[0] = '\0';
	rec_profile_write(&v.context, devices);
	CU_ASSERT_FATAL(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	ret = text[0] ? profile_load(p, path) : -1;
	unlink(path);
	return !ret;
}

static void test_more(void)
{
	struct profile p;

	memset(&attr, 0x7f, sizeof(attr));
	memset(&port, 0x7f, sizeof(port));
	memset(pkeys, 0xff, sizeof(pkeys));
	attr.orig_attr.max_mr_size = ~0ull;
	port.max_mtu = IBV_MTU_4096;
	port.link_layer = IBV_LINK_LAYER_ETHERNET;
	CU_ASSERT_FATAL(made(&p, "a.name.of.far.more.bytes.than.are.taken12", 1000, 1000));
	CU_ASSERT_STRING_EQUAL(p.dev_name, "a.name.of.far.more.");
	CU_ASSERT(p.n_devs == 8 && p.n_ports == 2 && p.n_pkeys == 8);
	CU_ASSERT(p.lim.max_qp == HCA_MAX_QP - 32 && p.lim.max_qp_wr == LIM_QP_WR);
	CU_ASSERT(p.lim.max_cqe == LIM_CQE && p.lim.max_mr == HCA_MAX_MR / 2 - 32);
	CU_ASSERT(p.lim.max_rd_atom == LIM_RD_ATOM && p.lim.max_msg == LIM_MSG);
	CU_ASSERT(p.lim.max_tso == LIM_TSO && p.lim.max_ind_size == LIM_IND);
	CU_ASSERT(p.active_mtu == p.max_mtu && p.lim.max_mr_size == ~0ull);
}

static void test_less(void)
{
	struct profile p;

	memset(&attr, 0, sizeof(attr));
	memset(&port, 0, sizeof(port));
	memset(pkeys, 0, sizeof(pkeys));
	CU_ASSERT_FATAL(made(&p, "7", 0, 0));
	CU_ASSERT_STRING_EQUAL(p.dev_name, "rdmaemu");
	CU_ASSERT(p.n_devs == 1 && p.n_ports == 1 && p.lim.max_qp == 1 && p.lim.comp_vectors == 1);
	CU_ASSERT(!p.lim.caps && !p.lim.max_srq && !p.lim.max_dm && p.lim.max_msg == 4096);
	CU_ASSERT(p.lim.atomic_cap == ATOMIC_NONE && !p.lim.odp && p.link_layer == LINK_INFINIBAND);
	memset(&attr, 0xff, sizeof(attr));
	port.link_layer = IBV_LINK_LAYER_INFINIBAND;
	CU_ASSERT_FATAL(made(&p, "negative0", -1, 1));
	CU_ASSERT(p.lim.max_qp == 1 && !p.lim.max_srq && p.lim.max_ah > 1);
}

static void test_as_it_is(void)
{
	struct profile p;

	memset(&attr, 0, sizeof(attr));
	memset(&port, 0, sizeof(port));
	strcpy(attr.orig_attr.fw_ver, "..20.31 (x)");
	attr.orig_attr.vendor_id = 0x2c9;
	attr.orig_attr.phys_port_cnt = 1;
	attr.orig_attr.max_sge = 30;
	attr.orig_attr.max_srq = 10;
	attr.orig_attr.max_qp_rd_atom = 16;
	attr.orig_attr.max_qp_init_rd_atom = 4;
	attr.orig_attr.device_cap_flags = IBV_DEVICE_XRC | IBV_DEVICE_RAW_IP_CSUM;
	attr.orig_attr.atomic_cap = IBV_ATOMIC_HCA;
	port.max_mtu = IBV_MTU_4096;
	port.active_mtu = IBV_MTU_2048;
	port.active_speed = 64 + 1;
	port.active_width = 2;
	port.pkey_tbl_len = 4;
	memcpy(pkeys, (u16[4]){ 0xffff, 0x8001, 0, 0x8002 }, 8);
	port.link_layer = IBV_LINK_LAYER_INFINIBAND;
	CU_ASSERT_FATAL(made(&p, "mlx5_12", 3, 2));
	CU_ASSERT_STRING_EQUAL(p.dev_name, "mlx5_");
	CU_ASSERT_STRING_EQUAL(p.fw, "20.31x");
	CU_ASSERT(p.lim.vendor_id == 0x2c9 && p.n_devs == 2 && p.lim.comp_vectors == 3);
	CU_ASSERT(p.lim.max_sge == 30 && !p.lim.max_srq && p.lim.max_rd_atom == 4);
	CU_ASSERT_EQUAL(p.lim.caps, (u64)(IBV_DEVICE_XRC | IBV_DEVICE_RAW_IP_CSUM));
	CU_ASSERT(p.active_mtu == 4 && p.max_mtu == 5 && p.speed == 64 && p.width == WIDTH_4X);
	CU_ASSERT(p.n_pkeys == 2 && p.pkey[1] == 0x8001 && p.lim.pkeys == 4);
	CU_ASSERT_EQUAL(p.prefix, 0xfec0000000000001);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a card that has more than the emulator", test_more },
		{ "a card that has nothing", test_less },
		{ "a card within it", test_as_it_is },
		{ NULL, NULL },
	};

	return cu_run("card", tests);
}
