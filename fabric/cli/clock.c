/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu clock`, `rdmaemu clock advance|run|stop`.
 */
#include "fabric/cli/cli.h"
#include "fabric/common/json.h"
#include "fabric/common/parse.h"
#include "fabric/common/parse_link.h"

#include <json-c/json.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void clock_print_time(const char *before, u64 ns)
{
	printf("%s%llu.%09llu s", before, (unsigned long long)(ns / 1000000000),
	       (unsigned long long)(ns % 1000000000));
}

static void clock_print_line(const struct opts *o, const struct proto_clock *k)
{
	printf("fabric %s: ", o->fabric);
	clock_print_time("", k->now);
	if (!k->running)
		printf(", stopped");
	else if (k->ppm != CLOCK_PPM)
		printf(", running at %g times real time", (double)k->ppm / CLOCK_PPM);
	else
		printf(", running");
	if (k->next != ~0ULL)
		clock_print_time(", next timer at ", k->next);
	putchar('\n');
}

static void clock_print_json(const struct opts *o, const struct proto_clock *k)
{
	struct json_object *j = json_object_new_object();

	json_add_str(j, "fabric", o->fabric);
	json_object_object_add(j, "now_ns", json_object_new_uint64(k->now));
	json_object_object_add(j, "running", json_object_new_boolean((int)k->running));
	json_object_object_add(j, "scale", json_object_new_double((double)k->ppm / CLOCK_PPM));
	json_object_object_add(j, "next_ns",
			       k->next == ~0ULL ? NULL : json_object_new_uint64(k->next));
	json_print(stdout, j);
}

static int clock_print_error(const struct opts *o, int err, const struct proto_clock *k)
{
	switch (err) {
	case -EOPNOTSUPP:
		print_error("fabric %s is joined with others: its clock cannot be changed",
			    o->fabric);
		break;
	case -EBUSY:
		print_error("fabric %s: another command is moving its clock", o->fabric);
		break;
	case -ERANGE:
		print_error("fabric %s: its clock cannot advance that far", o->fabric);
		break;
	case -ETIME:
		print_error("fabric %s: its clock got to %llu.%09llu s: a stopped program has its "
			    "engine",
			    o->fabric, (unsigned long long)(k->now / 1000000000),
			    (unsigned long long)(k->now % 1000000000));
		break;
	default:
		return ctl_print_error(o, err);
	}
	return 1;
}

/* @k receives the answer. Return: exit status. */
static int clock_send_request(const struct opts *o, const struct fabric_paths *p,
			      struct proto_clock k)
{
	struct proto_msg m = { .op = PROTO_CLOCK, .clock = k };
	const struct timeval no_timeout = { 0 };
	int sock = ctl_connect(p->sock), ret;

	if (sock < 0)
		return ctl_print_error(o, sock);
	/* To advance the clock far takes long. */
	if (k.what == PROTO_CLOCK_ADVANCE)
		setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &no_timeout, sizeof(no_timeout));
	ret = ctl_call(sock, &m, NULL);
	close(sock);
	if (ret)
		return clock_print_error(o, ret, &m.clock);
	if (o->json)
		clock_print_json(o, &m.clock);
	else if (k.what == PROTO_CLOCK_SHOW)
		clock_print_line(o, &m.clock);
	return 0;
}

int verb_clock(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return clock_send_request(o, p, (struct proto_clock){ .what = PROTO_CLOCK_SHOW });
}

int verb_clock_advance(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_clock k = { .what = PROTO_CLOCK_ADVANCE };

	if (argc != 1 || !time_parse(argv[0], CLOCK_ADVANCE_MAX, &k.ns)) {
		print_error("clock advance: '%s': expected a time of up to a year, with its unit: "
			    "ns, us, ms or s",
			    argc > 1 ? argv[1] : argv[0]);
		return EXIT_USAGE;
	}
	return clock_send_request(o, p, k);
}

int verb_clock_run(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_clock k = { .what = PROTO_CLOCK_RUN };

	if (argc > 1 || (argc && !parse_scale(argv[0], &k.ppm))) {
		print_error("clock run: '%s': expected " PARSE_SCALE_EXPECTED, argv[argc > 1]);
		return EXIT_USAGE;
	}
	return clock_send_request(o, p, k);
}

int verb_clock_stop(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return clock_send_request(o, p, (struct proto_clock){ .what = PROTO_CLOCK_STOP });
}
