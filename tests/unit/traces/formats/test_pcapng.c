/* SPDX-License-Identifier: MIT */
/* Capture files: read back by libpcap, and block by block. */
#include "tests/lib/c/cu.h"
#include "tests/unit/traces/formats/pcapng_blocks.h"
#include "traces/formats/pcapng.h"
#include "traces/formats/roce.h"

#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

static char dir[] = "/tmp/rdmaemu_pcapng.XXXXXX";
static char path[64];

static const char *in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static bool text_is(const u8 *at, u32 from, u32 code, const char *want)
{
	u32 len = 0;
	const u8 *o = pcapng_option(at, from, code, &len);

	return o && len == strlen(want) && !memcmp(o, want, len);
}

static int add(struct pcapng *w, const char *name)
{
	return pcapng_add_iface(w,
				&(struct pcapng_iface){ .name = name, .link = ROCE_LINK_ETHERNET });
}

static int put(struct pcapng *w, u64 ns, const void *frame, u32 len)
{
	return pcapng_write(
		w, &(struct pcapng_pkt){ .ns = ns, .frame = frame, .caplen = len, .len = len });
}

/* libpcap reads the same packets, times and lengths. */
static void test_libpcap(void)
{
	char err[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *h;
	struct pcapng_pkt p = { .ns = 1700000000123456789ULL, .dir = PCAPNG_OUTBOUND };
	struct pcapng *w;
	u8 frame[300];
	const u8 *bytes;
	pcap_t *pcap;
	u32 i;

	CU_ASSERT_EQUAL_FATAL(pcapng_open(&w, &(struct pcapng_opts){ .path = in_dir("a.pcapng") }),
			      0);
	CU_ASSERT_EQUAL(add(w, "one"), 0);
	CU_ASSERT_EQUAL(add(w, "two"), 1);
	for (i = 0; i < sizeof(frame); i++)
		frame[i] = (u8)i;
	p.frame = frame;
	for (i = 0; i < sizeof(frame); i++) {
		p.caplen = i;
		p.len = i * 3;
		p.iface = i & 1;
		p.comment = i % 3 ? NULL : "a comment";
		CU_ASSERT_EQUAL(pcapng_write(w, &p), 0);
		p.ns += 1000000001;
	}
	CU_ASSERT_EQUAL(pcapng_close(w, p.ns), 0);
	pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pcap);
	CU_ASSERT_EQUAL(pcap_datalink(pcap), DLT_EN10MB);
	for (i = 0; pcap_next_ex(pcap, &h, &bytes) == 1; i++) {
		CU_ASSERT_EQUAL(h->caplen, i);
		CU_ASSERT_EQUAL(h->len, i * 3);
		CU_ASSERT_EQUAL(memcmp(bytes, frame, i), 0);
		CU_ASSERT_EQUAL(h->ts.tv_sec, 1700000000 + (time_t)i);
		CU_ASSERT_EQUAL(h->ts.tv_usec, 123456789 + (suseconds_t)i);
	}
	CU_ASSERT_EQUAL(i, sizeof(frame));
	pcap_close(pcap);
}

/* All options at once. */
static void test_options(void)
{
	static const u8 mac[6] = { 2, 3, 4, 5, 6, 7 };
	struct pcapng_iface i = { .name = "n/d/1",
				  .description = "a port",
				  .filter = "udp",
				  .link = 247,
				  .snaplen = 128,
				  .mac = mac,
				  .speed = 100ULL * 1000 * 1000 * 1000 };
	struct pcapng_pkt p = { .ns = 5,
				.frame = mac,
				.caplen = 6,
				.len = 9,
				.dir = PCAPNG_INBOUND,
				.dropped = 3,
				.id = 0x123456789aULL,
				.comment = "dropped by rule 3, lossy.scn:7" };
	struct pcapng_opts o = { .path = in_dir("b.pcapng"),
				 .hardware = "hw",
				 .os = "os",
				 .application = "app",
				 .comment = "why" };
	struct pcapng_stat st;
	struct pcapng *w;
	struct pcapng_file f;
	const u8 *b;
	u64 v;
	u32 n;

	CU_ASSERT_EQUAL_FATAL(pcapng_open(&w, &o), 0);
	CU_ASSERT_STRING_EQUAL(pcapng_path(w), path);
	CU_ASSERT_EQUAL(pcapng_add_iface(w, &i), 0);
	CU_ASSERT_EQUAL(pcapng_write(w, &p), 0);
	pcapng_count(w, 0, 10, 4);
	pcapng_stat(w, &st);
	CU_ASSERT_EQUAL(st.packets, 0);
	CU_ASSERT_EQUAL(st.waiting, 1);
	CU_ASSERT_EQUAL(st.dropped, 7);
	CU_ASSERT_EQUAL(st.files, 1);
	CU_ASSERT_EQUAL(pcapng_end(w, 0x1122334455ULL), 0);
	pcapng_stat(w, &st);
	CU_ASSERT_EQUAL(st.packets, 1);
	CU_ASSERT_EQUAL(st.waiting, 0);
	CU_ASSERT_EQUAL(pcapng_close(w, 0x1122334455ULL), 0);
	f = pcapng_file_read(path);
	CU_ASSERT_EQUAL(st.bytes, f.len);
	CU_ASSERT_EQUAL(pcapng_blocks_count(&f).whole, f.len);
	b = pcapng_block_nth(&f, 0x0a0d0d0a, 0);
	CU_ASSERT(text_is(b, 24, 2, "hw") && text_is(b, 24, 3, "os"));
	CU_ASSERT(text_is(b, 24, 4, "app") && text_is(b, 24, 1, "why"));
	b = pcapng_block_nth(&f, PCAPNG_IDB, 0);
	CU_ASSERT_EQUAL(pcapng_word(b + 8), 247);
	CU_ASSERT_EQUAL(pcapng_word(b + 12), 128);
	CU_ASSERT(text_is(b, 16, 2, "n/d/1") && text_is(b, 16, 3, "a port"));
	CU_ASSERT(!memcmp(pcapng_option(b, 16, 6, &n), mac, 6));
	memcpy(&v, pcapng_option(b, 16, 8, &n), 8);
	CU_ASSERT_EQUAL(v, i.speed);
	CU_ASSERT_EQUAL(*pcapng_option(b, 16, 9, &n), 9);
	CU_ASSERT(!memcmp(pcapng_option(b, 16, 11, &n), "\0udp", 4) && n == 4);
	b = pcapng_block_nth(&f, PCAPNG_EPB, 0);
	CU_ASSERT_EQUAL(pcapng_word(b + 20), 6);
	CU_ASSERT_EQUAL(pcapng_word(b + 24), 9);
	CU_ASSERT_EQUAL(pcapng_word(pcapng_option(b, 36, 2, &n)), PCAPNG_INBOUND);
	memcpy(&v, pcapng_option(b, 36, 4, &n), 8);
	CU_ASSERT_EQUAL(v, 3);
	memcpy(&v, pcapng_option(b, 36, 5, &n), 8);
	CU_ASSERT_EQUAL(v, p.id);
	CU_ASSERT(text_is(b, 36, 1, p.comment));
	b = pcapng_block_nth(&f, PCAPNG_ISB, 0);
	CU_ASSERT_EQUAL(pcapng_word(b + 12), 0x11);
	CU_ASSERT_EQUAL(pcapng_word(b + 16), 0x22334455);
	memcpy(&v, pcapng_option(b, 20, 4, &n), 8);
	CU_ASSERT_EQUAL(v, 1 + 10 + 7);
	memcpy(&v, pcapng_option(b, 20, 5, &n), 8);
	CU_ASSERT_EQUAL(v, 7);
	memcpy(&v, pcapng_option(b, 20, 6, &n), 8);
	CU_ASSERT_EQUAL(v, 1 + 7);
	free(f.at);
}

/* Texts that are too long end before a character that has no room; what is wrong is refused. */
static void test_bounds(void)
{
	static u8 big[PCAPNG_SNAPLEN + 1];
	struct pcapng_pkt p = { .frame = big, .len = sizeof(big), .caplen = PCAPNG_SNAPLEN };
	char text[2 * PCAPNG_STRING];
	struct pcapng *w = NULL;
	struct pcapng_file f;
	u32 n = 0, i;

	memset(text, 'x', sizeof(text));
	text[PCAPNG_STRING - 1] = (char)0xc3; /* one character of two bytes */
	text[PCAPNG_STRING] = (char)0xa4;
	text[sizeof(text) - 1] = 0;
	CU_ASSERT_EQUAL_FATAL(
		pcapng_open(&w, &(struct pcapng_opts){ .path = in_dir("c"), .comment = text }), 0);
	CU_ASSERT_EQUAL(pcapng_write(w, &p), -EINVAL); /* no interface */
	CU_ASSERT_EQUAL(add(w, text), 0);
	p.comment = text;
	for (i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(pcapng_write(w, &p), 0);
	p.caplen++;
	CU_ASSERT_EQUAL(pcapng_write(w, &p), -EINVAL);
	p.len = 3;
	p.caplen = 4;
	CU_ASSERT_EQUAL(pcapng_write(w, &p), -EINVAL);
	pcapng_count(w, 1, 1, 1);
	CU_ASSERT_EQUAL(pcapng_close(w, 0), 0);
	f = pcapng_file_read(path);
	CU_ASSERT_EQUAL(pcapng_blocks_count(&f).n[PCAPNG_EPB], 5);
	CU_ASSERT_EQUAL(pcapng_blocks_count(&f).whole, f.len);
	pcapng_option(pcapng_block_nth(&f, PCAPNG_EPB, 4), 28 + PCAPNG_SNAPLEN, 1, &n);
	CU_ASSERT_EQUAL(n, PCAPNG_STRING - 1);
	free(f.at);
	w = NULL;
	CU_ASSERT_EQUAL(pcapng_open(&w, &(struct pcapng_opts){ .path = in_dir("no/such") }),
			-ENOENT);
	CU_ASSERT_EQUAL(pcapng_open(&w, &(struct pcapng_opts){ .path = "-", .ring_packets = 3 }),
			-EINVAL);
	CU_ASSERT_EQUAL(pcapng_open(&w, &(struct pcapng_opts){ .fd = 1, .ring_packets = 3 }),
			-EINVAL);
	CU_ASSERT_EQUAL(pcapng_open(&w, &(struct pcapng_opts){ .path = path, .ring_bytes = 100 }),
			-EINVAL);
	CU_ASSERT_PTR_NULL(w);
}

static bool exists(const char *name)
{
	return !access(in_dir(name), F_OK);
}

/*
 * Each file of a ring is whole: it has all interfaces, also those that came later, and no more than
 * it may.
 */
static void ring(u64 bytes, u64 packets, u32 keep)
{
	char name[32];
	u8 frame[100] = { 0 };
	struct pcapng_stat st;
	struct pcapng_blocks b;
	struct pcapng *w;
	struct pcapng_file f;
	u32 i, total = 0;

	CU_ASSERT_EQUAL_FATAL(
		pcapng_open(&w, &(struct pcapng_opts){ .path = in_dir("ring.x.pcapng"),
						       .ring_bytes = bytes,
						       .ring_packets = packets,
						       .ring_files = keep }),
		0);
	CU_ASSERT_EQUAL(add(w, "one"), 0);
	for (i = 0; i < 1000; i++) {
		if (i == 500)
			CU_ASSERT_EQUAL(add(w, "two"), 1);
		CU_ASSERT_EQUAL(put(w, i, frame, sizeof(frame)), 0);
	}
	pcapng_stat(w, &st);
	CU_ASSERT_EQUAL(pcapng_close(w, 1000), 0);
	CU_ASSERT(st.files > 5);
	for (i = 1; i <= st.files + 1; i++) {
		snprintf(name, sizeof(name), "ring.x_%05u.pcapng", i);
		CU_ASSERT_EQUAL(exists(name), i <= st.files && (!keep || i + keep > st.files));
		if (!exists(name))
			continue;
		f = pcapng_file_read(path);
		b = pcapng_blocks_count(&f);
		CU_ASSERT_EQUAL(b.whole, f.len);
		CU_ASSERT_EQUAL(b.sections, 1);
		CU_ASSERT_EQUAL(b.n[PCAPNG_IDB], b.n[PCAPNG_ISB]);
		CU_ASSERT_EQUAL(b.last, PCAPNG_ISB);
		if (i == st.files)
			CU_ASSERT_EQUAL(b.n[PCAPNG_IDB], 2);
		CU_ASSERT(!bytes || f.len <= bytes);
		CU_ASSERT(!packets || b.n[PCAPNG_EPB] <= packets);
		total += b.n[PCAPNG_EPB];
		free(f.at);
		unlink(path);
	}
	CU_ASSERT(keep ? total < 1000 : total == 1000);
}

static void test_ring(void)
{
	ring(10000, 0, 0);
	ring(0, 77, 0);
	ring(10000, 77, 3);
	ring(4096, 0, 1);
}

/* A writer that is killed leaves whole blocks, and maybe a part of one. */
static void test_killed(void)
{
	u8 frame[1000] = { 0 };
	struct pcapng *w;
	struct pcapng_blocks b;
	struct pcapng_file f;
	int status;
	pid_t pid;
	u64 i;

	pid = fork();
	if (!pid) {
		if (pcapng_open(&w, &(struct pcapng_opts){ .path = in_dir("killed") }) ||
		    add(w, "one"))
			_exit(1);
		for (i = 0;; i++)
			if (put(w, i, frame, sizeof(frame)) ||
			    (i == 3000 && kill(getpid(), SIGKILL)))
				_exit(1);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFSIGNALED(status));
	f = pcapng_file_read(in_dir("killed"));
	b = pcapng_blocks_count(&f);
	CU_ASSERT(b.n[PCAPNG_EPB] > 1000 && b.n[PCAPNG_EPB] <= 3000);
	CU_ASSERT_EQUAL(b.n[PCAPNG_ISB], 0);
	CU_ASSERT(f.len - b.whole < 1100);
	free(f.at);
}

/* A file that may not grow: the error is told, and what is in it is whole. */
static void full(rlim_t max)
{
	struct rlimit limit, small;
	struct pcapng_stat st;
	u8 frame[1000] = { 0 };
	struct pcapng *w;
	struct pcapng_blocks b;
	struct pcapng_file f;
	u64 i;
	int ret = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = limit;
	small.rlim_cur = max;
	CU_ASSERT_EQUAL_FATAL(pcapng_open(&w, &(struct pcapng_opts){ .path = in_dir("full") }), 0);
	CU_ASSERT_EQUAL(add(w, "one"), 0);
	setrlimit(RLIMIT_FSIZE, &small);
	for (i = 0; i < 5000 && !ret; i++)
		ret = put(w, i, frame, sizeof(frame));
	CU_ASSERT_EQUAL(ret, -EFBIG);
	CU_ASSERT_EQUAL(put(w, i, frame, sizeof(frame)), -EFBIG);
	CU_ASSERT_EQUAL(add(w, "two"), -EFBIG);
	CU_ASSERT_EQUAL(pcapng_flush(w), -EFBIG);
	CU_ASSERT_EQUAL(pcapng_end(w, 0), -EFBIG);
	pcapng_stat(w, &st);
	CU_ASSERT_EQUAL(pcapng_close(w, 0), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &limit);
	f = pcapng_file_read(in_dir("full"));
	b = pcapng_blocks_count(&f);
	CU_ASSERT_EQUAL(st.packets, b.n[PCAPNG_EPB]);
	CU_ASSERT_EQUAL(st.waiting, 0);
	CU_ASSERT_EQUAL(st.bytes, f.len);
	CU_ASSERT_EQUAL(b.whole, f.len);
	CU_ASSERT(f.len <= max && f.len + 1100 > max);
	free(f.at);
}

static void test_full(void)
{
	full(2000000);
	full(2000123);
	full(1000);
}

/* A pipe whose reader is slow, and one that is not blocking; then one whose reader goes away. */
static void test_pipe(void)
{
	static u8 frame[60000];
	struct pcapng *w;
	int fd[2], status, n;
	char buf[5000];
	size_t got = 0;
	pid_t pid;
	u64 i;

	signal(SIGPIPE, SIG_IGN);
	CU_ASSERT_EQUAL_FATAL(pipe2(fd, O_NONBLOCK), 0);
	pid = fork();
	if (!pid) {
		close(fd[1]);
		fcntl(fd[0], F_SETFL, 0);
		while (got < 3000000 && (n = (int)read(fd[0], buf, sizeof(buf))) > 0)
			got += (size_t)n;
		_exit(got < 3000000);
	}
	close(fd[0]);
	CU_ASSERT_EQUAL_FATAL(pcapng_open(&w, &(struct pcapng_opts){ .fd = fd[1] }), 0);
	CU_ASSERT_STRING_EQUAL(pcapng_path(w), "");
	CU_ASSERT_EQUAL(add(w, "one"), 0);
	for (i = 0; i < 40; i++)
		CU_ASSERT_EQUAL(put(w, i, frame, sizeof(frame)), 0);
	CU_ASSERT_EQUAL(pcapng_flush(w), 0);
	while (!(n = put(w, i, frame, sizeof(frame))))
		;
	CU_ASSERT_EQUAL(n, -EPIPE);
	CU_ASSERT_EQUAL(pcapng_close(w, 0), -EPIPE);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "libpcap reads the same packets", test_libpcap },
		{ "interfaces, options, statistics", test_options },
		{ "bounds", test_bounds },
		{ "rings", test_ring },
		{ "a writer that is killed", test_killed },
		{ "a file that may not grow", test_full },
		{ "pipes", test_pipe },
		{ NULL, NULL },
	};
	char cmd[64];
	int ret;

	if (!mkdtemp(dir))
		return 2;
	ret = cu_run("pcapng", tests);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) ? 2 : ret;
}
