/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu fabric start|stop|status`, `rdmaemu status`.
 */
#include "fabric/cli/cli.h"
#include "fabric/cli/scenario.h"
#include "fabric/cli/view/view.h"
#include "fabric/common/text_io.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define AUDIT_TRIES 20u /* of half a second each: fabric/server/status.c */

int ctl_print_error(const struct opts *o, int err)
{
	char version[256];

	if (err == -EPROTONOSUPPORT) {
		ctl_version_text(version, sizeof(version));
		print_error("fabric %s: %s", o->fabric, version);
	} else if (err == -ENOENT || err == -ECONNREFUSED || err == -EPIPE)
		print_error("fabric %s is not running", o->fabric);
	else if (err == -ETIMEDOUT)
		print_error("fabric %s does not answer: is its process stopped?", o->fabric);
	else if (err == -ENXIO && o->member[0])
		print_error("fabric %s has joined with no fabric '%s'; see 'rdmaemu status'",
			    o->fabric, o->member);
	else if (err == -EHOSTUNREACH && o->member[0])
		print_error("fabric %s has no connection with fabric '%s' now", o->fabric,
			    o->member);
	else if (err == -EHOSTDOWN && o->member[0])
		print_error("fabric '%s' does not answer", o->member);
	else if (err == -EACCES)
		print_error("fabric %s is isolated, and its programs may not control it: run this "
			    "outside of them, or start the program with --control",
			    o->fabric);
	else if (err == -EPERM)
		print_error("fabric %s is isolated, and its programs stay on their node: run this "
			    "outside of them, or start the program with --control",
			    o->fabric);
	else
		print_error("fabric %s: %s", o->fabric, strerror(-err));
	return 1;
}

/*
 * Send one request to a running fabric. Return: 0 with the answer in *@m and the memfd of its text
 * in @fd, or -errno.
 */
static int ctl_request_text(const struct fabric_paths *p, struct proto_msg *m, int *fd)
{
	int sock = ctl_connect(p->sock), ret;

	*fd = -1;
	if (sock < 0)
		return sock;
	ret = ctl_call(sock, m, fd);
	close(sock);
	if (!ret && *fd < 0)
		return -EPROTO;
	return ret;
}

int ctl_print_text(const struct opts *o, const struct fabric_paths *p, u32 op)
{
	struct proto_msg m = { .op = op, .flags = o->json ? PROTO_F_JSON : 0 };
	int fd, ret;

	m.flags |= o->verbose ? PROTO_F_VERBOSE : 0;
	memcpy(m.member, o->member, sizeof(o->member));
	ret = ctl_request_text(p, &m, &fd);
	return ret ? ctl_print_error(o, ret) : memfd_print(fd, stdout);
}

int ctl_request_json(const struct fabric_paths *p, struct proto_msg *m, struct json_object **root)
{
	struct json_tokener *tok;
	size_t len = 0;
	char *text;
	int fd, ret;

	*root = NULL;
	m->flags |= PROTO_F_JSON;
	ret = ctl_request_text(p, m, &fd);
	if (ret)
		return ret;
	text = memfd_map(fd, &len);
	close(fd);
	tok = json_tokener_new();
	*root = text && tok ? json_tokener_parse_ex(tok, text, (int)len) : NULL;
	json_tokener_free(tok);
	if (text)
		munmap(text, len);
	return *root ? 0 : -EPROTO;
}

static int status_print_audited(const struct opts *o, const struct fabric_paths *p)
{
	struct proto_msg m;
	u32 tries = 0;
	int fd, ret;

	for (;;) {
		m = (struct proto_msg){ .op = PROTO_STATUS, .flags = PROTO_F_AUDIT };
		m.flags |= (o->json ? PROTO_F_JSON : 0) | (o->verbose ? PROTO_F_VERBOSE : 0);
		ret = ctl_request_text(p, &m, &fd);
		if (ret)
			return ctl_print_error(o, ret);
		if (!(m.flags & PROTO_F_BUSY) || ++tries == AUDIT_TRIES)
			break;
		close(fd);
	}
	ret = memfd_print(fd, stdout);
	return ret || m.flags & (PROTO_F_BUSY | PROTO_F_UNSOUND) ? 1 : 0;
}

static int status_print_metrics(const struct opts *o, const struct fabric_paths *p)
{
	struct proto_msg status = { .op = PROTO_STATUS }, list = { .op = PROTO_FAULT_LIST };
	struct json_object *root = NULL, *faults = NULL;
	int ret;

	memcpy(status.member, o->member, sizeof(o->member));
	memcpy(list.member, o->member, sizeof(o->member));
	ret = ctl_request_json(p, &status, &root);
	if (!ret)
		ret = ctl_request_json(p, &list, &faults);
	if (!ret)
		metrics_print(stdout, root, faults, o->prometheus);
	json_object_put(root);
	json_object_put(faults);
	return ret ? ctl_print_error(o, ret) : 0;
}

int verb_status(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (o->prometheus && (o->json || o->audit || o->verbose)) {
		print_error("status: --prometheus: expected no --json, --audit or --verbose");
		return EXIT_USAGE;
	}
	if (o->audit && o->member[0]) {
		print_error("status: --audit: expected no --member");
		return EXIT_USAGE;
	}
	if (o->prometheus)
		return status_print_metrics(o, p);
	return o->audit ? status_print_audited(o, p) : ctl_print_text(o, p, PROTO_STATUS);
}

int verb_fabric_start(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	u32 flags = PROTO_F_KEEP;
	struct scenario s;
	struct proto_msg m;
	int sock, ret;

	(void)argc;
	(void)argv;
	if (scenario_load(&s, o) || ctl_check_files(o))
		return EXIT_USAGE;
	if (o->dry_run) {
		scenario_print(&s, false);
		return 0;
	}
	if (o->level[OPT_LINGER] < LEVEL_FLAG)
		flags |= PROTO_F_STAY;
	sock = ctl_start(o, p, flags, 0, &m);
	if (sock < 0)
		return 1;
	ret = scenario_add(&s, sock, o, 0) ? 1 : 0;
	close(sock);
	return ret;
}

int verb_fabric_stop(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_msg m = { .op = PROTO_STOP };
	int sock, ret;
	ssize_t n;

	(void)argc;
	(void)argv;
	sock = ctl_connect(p->sock);
	if (sock < 0)
		return ctl_print_error(o, sock);
	ret = ctl_call(sock, &m, NULL);
	if (!ret)
		/* The fabric process closes the connection when it has removed its files. */
		do
			n = recv(sock, &m, sizeof(m), 0);
		while (n > 0 || (n < 0 && errno == EINTR));
	close(sock);
	return ret ? ctl_print_error(o, ret) : 0;
}

static long status_number(struct json_object *root, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(root, key, &v))
		return 0;
	return json_object_is_type(v, json_type_array) ? (long)json_object_array_length(v)
						       : (long)json_object_get_int64(v);
}

int verb_fabric_status(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct proto_msg m = { .op = PROTO_STATUS };
	struct json_object *root;
	int ret;

	(void)argc;
	(void)argv;
	ret = ctl_request_json(p, &m, &root);
	if (ret == -ENOENT || ret == -ECONNREFUSED || ret == -EPIPE) {
		printf("fabric %s: not running\n", o->fabric);
		return 1;
	}
	if (ret)
		return ctl_print_error(o, ret);
	printf("fabric %s: running, process %ld, %ld devices, %ld programs, %ld queue pairs%s\n",
	       o->fabric, status_number(root, "pid"), status_number(root, "devices"),
	       status_number(root, "clients"), status_number(root, "qps"),
	       status_number(root, "isolated")	     ? ", isolated"
	       : status_number(root, "real_devices") ? ", of real devices"
						     : "");
	json_object_put(root);
	return 0;
}
