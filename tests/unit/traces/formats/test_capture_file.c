/* SPDX-License-Identifier: MIT */
/* The reader of capture files: what it finds in files of the writer, and in broken ones. */
#include "tests/lib/c/cu.h"
#include "traces/formats/capture_file.h"
#include "traces/formats/pcapng.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES 6u

/* A file of FRAMES packets on two interfaces; every second one has a comment. */
static u8 *make_file(size_t *size)
{
	int fd = memfd_create("capture", 0);
	struct pcapng_opts o = { .fd = dup(fd) };
	struct pcapng_iface ifaces[] = { { .name = "a/rdmaemu0/1", .link = 1 },
					 { .name = "dropped", .link = 247 } };
	u8 frame[64], *data;
	struct pcapng *w;
	u32 i;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(pcapng_open(&w, &o), 0);
	CU_ASSERT_FATAL(pcapng_add_iface(w, &ifaces[0]) == 0);
	CU_ASSERT_FATAL(pcapng_add_iface(w, &ifaces[1]) == 1);
	for (i = 0; i < FRAMES; i++) {
		memset(frame, (int)i, sizeof(frame));
		CU_ASSERT_EQUAL_FATAL(
			pcapng_write(w, &(struct pcapng_pkt){ .ns = 1700000000000000007ULL + i,
							      .frame = frame,
							      .caplen = 10 + i,
							      .len = 20 + i,
							      .iface = i & 1,
							      .comment = i & 1 ? "lost" : NULL }),
			0);
	}
	CU_ASSERT_EQUAL_FATAL(pcapng_close(w, 0), 0);
	*size = (size_t)lseek(fd, 0, SEEK_END);
	data = malloc(*size);
	CU_ASSERT_FATAL(data && pread(fd, data, *size, 0) == (ssize_t)*size);
	close(fd);
	return data;
}

static void test_packets(void)
{
	struct capture_file f;
	struct capture_pkt p;
	size_t size;
	u8 *data = make_file(&size);
	u32 i, pass;

	CU_ASSERT_EQUAL_FATAL(capture_file_parse(&f, data, size), 0);
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < FRAMES; i++) {
			CU_ASSERT_FATAL(capture_file_next(&f, &p));
			CU_ASSERT_EQUAL(p.ns, 1700000000000000007ULL + i);
			CU_ASSERT_EQUAL(p.caplen, 10 + i);
			CU_ASSERT_EQUAL(p.len, 20 + i);
			CU_ASSERT_EQUAL(p.link, i & 1 ? 247 : 1);
			CU_ASSERT_EQUAL(p.frame[9 + i], i);
			CU_ASSERT_STRING_EQUAL(p.iface, i & 1 ? "dropped" : "a/rdmaemu0/1");
			CU_ASSERT_EQUAL(p.comment_len, i & 1 ? 4 : 0);
			CU_ASSERT(!p.comment == !(i & 1));
		}
		CU_ASSERT(!capture_file_next(&f, &p));
		CU_ASSERT(!f.cut);
		capture_file_rewind(&f);
	}
	capture_file_end(&f);
	free(data);
}

/* Read all of a copy, in memory of just its size, so that sanitizers see each byte beyond it. */
static u32 read_all(const u8 *data, size_t size, bool *cut)
{
	u8 *copy = malloc(size ? size : 1);
	struct capture_file f;
	struct capture_pkt p;
	u32 n = 0;

	CU_ASSERT_FATAL(copy != NULL);
	memcpy(copy, data, size);
	*cut = false;
	if (!capture_file_parse(&f, copy, size)) {
		for (; capture_file_next(&f, &p); n++)
			CU_ASSERT(p.frame >= copy && p.frame + p.caplen <= copy + size &&
				  (!p.comment ||
				   (const u8 *)p.comment + p.comment_len <= copy + size));
		*cut = f.cut;
		capture_file_end(&f);
	}
	free(copy);
	return n;
}

/* A file that ends early has the packets before its end. */
static void test_cut(void)
{
	size_t size, n;
	u8 *data = make_file(&size);
	u32 packets, last = 0, cuts = 0;
	bool cut;

	for (n = 0; n <= size; n++) {
		packets = read_all(data, n, &cut);
		CU_ASSERT(packets == last || packets == last + 1);
		last = packets;
		cuts += cut;
	}
	CU_ASSERT_EQUAL(last, FRAMES);
	CU_ASSERT(!cut);
	CU_ASSERT(cuts > size / 2);
	free(data);
}

/* No byte leads out of the file, whatever it is. */
static void test_broken(void)
{
	static const u8 values[] = { 0, 1, 3, 0x7f, 0x80, 0xfc, 0xff };
	size_t size, i, k;
	u8 *data = make_file(&size), was;
	bool cut;

	for (i = 0; i < size; i++) {
		was = data[i];
		for (k = 0; k < sizeof(values); k++) {
			data[i] = values[k];
			CU_ASSERT(read_all(data, size, &cut) <= FRAMES);
		}
		data[i] = was;
	}
	free(data);
}

static void test_pcap(void)
{
	/* Head and one packet of 3 bytes, in big-endian order, with microseconds. */
	static const u8 big[] = { 0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0,
				  0,	0,    1,    0,	  0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0,
				  0,	9,    0,    0,	  0, 3, 0, 0, 0, 5, 1, 2, 3 };
	struct capture_file f;
	struct capture_pkt p;
	bool cut;

	CU_ASSERT_EQUAL_FATAL(capture_file_parse(&f, big, sizeof(big)), 0);
	CU_ASSERT_FATAL(capture_file_next(&f, &p));
	CU_ASSERT_EQUAL(p.ns, 7000009000ULL);
	CU_ASSERT_EQUAL(p.caplen, 3);
	CU_ASSERT_EQUAL(p.len, 5);
	CU_ASSERT_EQUAL(p.link, 1);
	CU_ASSERT_EQUAL(p.frame[2], 3);
	CU_ASSERT(!capture_file_next(&f, &p) && !f.cut);
	capture_file_end(&f);
	CU_ASSERT_EQUAL(read_all(big, sizeof(big) - 1, &cut), 0);
	CU_ASSERT(cut);
}

static void test_neither(void)
{
	struct capture_file f;

	CU_ASSERT_EQUAL(capture_file_parse(&f, "", 0), -EBADMSG);
	CU_ASSERT_EQUAL(capture_file_parse(&f, "no capture, but long enough", 27), -EBADMSG);
	CU_ASSERT_EQUAL(capture_file_open(&f, "/"), -EINVAL);
	CU_ASSERT_EQUAL(capture_file_open(&f, "/nowhere"), -ENOENT);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "packets, interfaces and comments of pcapng", test_packets },
		{ "a file that ends early", test_cut },
		{ "a file with a wrong byte", test_broken },
		{ "pcap, of the other byte order", test_pcap },
		{ "a file that is no capture", test_neither },
		{ NULL, NULL },
	};

	return cu_run("capture file", tests);
}
