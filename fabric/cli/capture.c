/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu capture start|stop|list`, and `rdmaemu run --capture`.
 *
 * The command opens the file, with its own rights, directory and standard output. The fabric
 * process opens the files of a ring, since they follow later.
 */
#include "fabric/cli/run_report.h"
#include "fabric/cli/cli.h"
#include "fabric/common/parse.h"
#include "fabric/common/pcap_library.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define FOLLOW_LINKS 65535

/*
 * The fabric process checks the filter as well, but cannot report libpcap's message. Return: 0, or
 * -1 after one line on stderr.
 */
static int capture_filter_check(const struct opts *o, const char *verb)
{
	char why[PCAP_ERRBUF_SIZE];
	struct pcap_library pcap;
	struct bpf_program prog;
	pcap_t *p;
	int ret;

	if (!o->filter[0])
		return 0;
	if (pcap_library_load(&pcap, why))
		return print_error("%s: --filter: %s", verb, why);
	p = pcap.open_dead(DLT_EN10MB, FOLLOW_LINKS);
	if (!p)
		return print_error("%s: --filter: %s", verb, strerror(ENOMEM));
	ret = pcap.compile(p, &prog, o->filter, 1, PCAP_NETMASK_UNKNOWN);
	if (ret)
		print_error("%s: --filter '%s': %s; see pcap-filter(7)", verb, o->filter,
			    pcap.geterr(p));
	else
		pcap.freecode(&prog);
	pcap.close(p);
	return ret ? -1 : 0;
}

/* Return: 0, or -1 after one line. */
static int capture_path_resolve(const char *verb, const char *file, char path[PATH_MAX])
{
	char cwd[PATH_MAX];
	int n;

	if (file[0] == '/' || !strcmp(file, "-")) {
		n = snprintf(path, PATH_MAX, "%s", file);
	} else {
		if (!getcwd(cwd, sizeof(cwd)))
			return print_error("%s: the current directory: %s", verb, strerror(errno));
		n = snprintf(path, PATH_MAX, "%s/%s", cwd, file);
	}
	return n < PATH_MAX ? 0 : print_error("%s: %s: %s", verb, file, strerror(ENAMETOOLONG));
}

/* Return: a descriptor, or -1 after one line on stderr. @made: whether the file is new */
static int capture_output_open(const char *verb, const char *file, bool *made)
{
	int fd;

	*made = false;
	if (!strcmp(file, "-")) {
		if (isatty(STDOUT_FILENO))
			return print_error(
				"%s: standard output is a terminal: expected a pipe or file", verb);
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		*made = fd >= 0;
		if (fd < 0 && errno == EEXIST)
			fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	}
	return fd < 0 ? print_error("%s: %s: %s", verb, file, strerror(errno)) : fd;
}

/* Remove a file that this process made, if the path still leads to it. */
static void capture_file_discard(const char *file, int fd)
{
	struct stat mine, there;

	if (!fstat(fd, &mine) && !lstat(file, &there) && mine.st_dev == there.st_dev &&
	    mine.st_ino == there.st_ino)
		unlink(file);
}

/* The mode of a file that this process creates. */
static u32 capture_file_mode(void)
{
	const mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static int capture_print_refusal(const struct opts *o, const char *verb, const char *file, int ret,
				 const struct proto_capture *q)
{
	switch (ret) {
	case -ENODEV:
		return print_error("%s: fabric %s has no such port; see 'rdmaemu status'", verb,
				   o->fabric);
	case -EUSERS:
		return print_error(
			"%s: fabric %s has %u captures already; see 'rdmaemu capture list'", verb,
			o->fabric, CAPTURES);
	case -EBUSY:
		return print_error("%s: %s: capture %u writes to it already", verb, file, q->id);
	case -EIO:
		if ((q->err == EINVAL || q->err == EBUSY) && q->text[0])
			return print_error("%s: %s", verb, q->text);
		return print_error("%s: %s: %s", verb, q->text[0] ? q->text : file,
				   strerror(q->err));
	}
	ctl_print_error(o, ret);
	return -1;
}

static int capture_options_check(const struct opts *o, const char *verb, const char *file)
{
	if (o->ring_files && !o->ring_size)
		return print_error("%s: --ring-files: expected --ring-size as well", verb);
	if (o->ring_size && !strcmp(file, "-"))
		return print_error("%s: --ring-size: expected a file, not standard output", verb);
	return 0;
}

/*
 * Return: the capture's number, or -1 after one line on stderr. @hold: the capture ends with the
 * connection
 */
static int capture_request_start(const struct opts *o, const char *verb, const char *file, int sock,
				 bool hold)
{
	static struct proto_msg m;
	const struct timeval forever = { 0 };
	struct proto_capture *q = &m.capture;
	bool made = false;
	int fd = -1, ret;

	m = (struct proto_msg){ .op = PROTO_CAPTURE_START, .flags = hold ? PROTO_F_HOLD : 0 };
	if (capture_options_check(o, verb, file) || capture_filter_check(o, verb) ||
	    capture_path_resolve(verb, file, q->path))
		return -1;
	q->lossy = o->lossy;
	q->erf = o->erf;
	q->snaplen = o->snaplen;
	q->ring_bytes = o->ring_size;
	q->ring_files = o->ring_files;
	q->mode = capture_file_mode();
	q->port = o->port;
	/* In a run, --node is where the program runs. */
	if (!hold && strcmp(o->node, "all") != 0)
		snprintf(q->node, sizeof(q->node), "%s", o->node);
	snprintf(q->dev, sizeof(q->dev), "%s", o->device);
	snprintf(q->filter, sizeof(q->filter), "%s", o->filter);
	if (!o->ring_size) {
		fd = capture_output_open(verb, file, &made);
		if (fd < 0)
			return -1;
	}
	/* Resolving a name in the filter may take long. */
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
	ret = ctl_call_fd(sock, &m, fd);
	/* With -EBUSY another capture already writes to the file. */
	if (ret && ret != -EBUSY && made)
		capture_file_discard(file, fd);
	if (fd >= 0)
		close(fd);
	return ret ? capture_print_refusal(o, verb, file, ret, q) : (int)q->id;
}

int verb_capture_start(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	int sock, id;

	if (argc != 1) {
		print_error("capture start: expected one file");
		return EXIT_USAGE;
	}
	if (capture_options_check(o, "capture start", argv[0]))
		return EXIT_USAGE;
	sock = ctl_connect(p->sock);
	if (sock < 0)
		return ctl_print_error(o, sock);
	id = capture_request_start(o, "capture start", argv[0], sock, false);
	close(sock);
	if (id < 0)
		return 1;
	/* Standard output has the capture itself then. */
	if (strcmp(argv[0], "-") != 0)
		printf("%d\n", id);
	return 0;
}

/* End a capture; with @id 0, any. Return: 0 with *q, or -errno. */
static int capture_request_stop(int sock, u32 id, struct proto_capture *q)
{
	static struct proto_msg m;
	const struct timeval forever = { 0 };
	int ret;

	m = (struct proto_msg){ .op = PROTO_CAPTURE_STOP };
	m.capture.id = id;
	/* The fabric process writes what is left as long as a reader takes it. */
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
	ret = ctl_call(sock, &m, NULL);
	*q = m.capture;
	return ret;
}

/* Return: exit status. */
static int capture_print_failure(const struct proto_capture *q)
{
	if (!q->err)
		return 0;
	print_error("capture: %s: %s, after %llu packets", q->text[0] ? q->text : q->path,
		    strerror(q->err), (unsigned long long)q->packets);
	return 1;
}

static void capture_print_counts(const struct proto_capture *q)
{
	printf("%s: %llu packets, %llu bytes", q->path, (unsigned long long)q->packets,
	       (unsigned long long)q->bytes);
	if (q->files > 1)
		printf(" in %u files", q->files);
	if (q->filter[0])
		printf(", %llu filtered", (unsigned long long)q->filtered);
	if (q->lossy)
		printf(", %llu lost", (unsigned long long)q->lost);
	putchar('\n');
}

static int capture_stop_all(const struct opts *o, int sock)
{
	struct proto_capture q;
	int status = 0, ret, n = 0;

	while (!(ret = capture_request_stop(sock, 0, &q)) && n++ < (int)CAPTURES) {
		capture_print_counts(&q);
		status |= capture_print_failure(&q);
	}
	if (ret == -ENOENT && !n)
		return print_error("capture stop: fabric %s has no capture", o->fabric), 1;
	return ret && ret != -ENOENT ? ctl_print_error(o, ret) : status;
}

int verb_capture_stop(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	int sock = ctl_connect(p->sock), status = 0, ret, i;
	struct proto_capture q;
	u64 id;

	if (sock < 0)
		return ctl_print_error(o, sock);
	if (!argc)
		status = capture_stop_all(o, sock);
	for (i = 0; i < argc && !status; i++) {
		if (!parse_number(argv[i], UINT32_MAX, &id) || !id) {
			print_error("capture stop: '%s': expected a capture's number", argv[i]);
			status = EXIT_USAGE;
			break;
		}
		ret = capture_request_stop(sock, (u32)id, &q);
		if (ret == -ENOENT)
			status = print_error("capture stop: fabric %s has no capture %s", o->fabric,
					     argv[i])
					 ? 1
					 : 0;
		else if (ret)
			status = ctl_print_error(o, ret);
		else
			capture_print_counts(&q);
		if (!ret)
			status = capture_print_failure(&q);
	}
	close(sock);
	return status;
}

int verb_capture_list(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return ctl_print_text(o, p, PROTO_CAPTURE_LIST);
}

/* --- rdmaemu run --capture -------------------------------------------------------------------- */

/* The capture of this run, which ends with this connection. */
static struct {
	int sock;
	u32 id;
} own = { .sock = -1 };

bool run_capture_is_wanted(const struct opts *o, const struct fabric_paths *p)
{
	(void)p;
	return o->capture[0];
}

int run_capture_start(const struct opts *o, const struct fabric_paths *p)
{
	static const struct {
		enum opt_id id;
		const char *name;
	} with[] = { { OPT_FILTER, "filter" },	     { OPT_SNAPLEN, "snaplen" },
		     { OPT_RING_SIZE, "ring-size" }, { OPT_RING_FILES, "ring-files" },
		     { OPT_LOSSY, "lossy" },	     { OPT_ERF, "erf" } };
	size_t i;
	int id;

	for (i = 0; i < ARRAY_SIZE(with) && !o->capture[0]; i++)
		if (o->level[with[i].id])
			return print_error("run: --%s: expected --capture as well", with[i].name);
	if (!o->capture[0])
		return 0;
	own.sock = ctl_connect(p->sock);
	if (own.sock < 0) {
		ctl_print_error(o, own.sock);
		return -1;
	}
	id = capture_request_start(o, "run", o->capture, own.sock, true);
	if (id < 0)
		return -1;
	own.id = (u32)id;
	/* The program's output must not get into the capture. */
	if (!strcmp(o->capture, "-") && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return print_error("run: standard output: %s", strerror(errno));
	return 0;
}

/* The fabric has ended, or does not answer. @ret: the error */
static void capture_print_fabric_gone(const struct opts *o, int ret)
{
	if (ret == -ENOENT || ret == -ECONNREFUSED || ret == -EPIPE)
		print_error("capture: %s: fabric %s ended before the capture did: packets may be "
			    "missing",
			    o->capture, o->fabric);
	else
		print_error("capture: %s: fabric %s: %s", o->capture, o->fabric, strerror(-ret));
}

enum run_result run_capture_report(const struct opts *o, const struct fabric_paths *p, u32 run,
				   const char *program)
{
	struct proto_capture q;
	struct proto_msg m;
	int fd, ret;

	(void)program;
	if (!run_journal_summary(p, run, &m, &fd))
		close(fd);
	ret = capture_request_stop(own.sock, own.id, &q);
	close(own.sock);
	if (ret)
		capture_print_fabric_gone(o, ret);
	else if (!capture_print_failure(&q) && q.ended)
		print_error("capture: %s: 'rdmaemu capture stop' ended it before the program's "
			    "end, after %llu packets",
			    q.path, (unsigned long long)q.packets);
	return ret || q.err ? RUN_TROUBLE : RUN_DONE;
}
