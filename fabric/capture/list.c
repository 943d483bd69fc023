/* SPDX-License-Identifier: MIT */
/* How captures are listed (`rdmaemu capture list`), and how far one has got. */
#include "fabric/capture/control.h"
#include "fabric/common/json.h"
#include "fabric/common/text_io.h"

#include <stdio.h>

int fabric_capture_written(struct fabric *f, const struct conn *owner, u64 *upto, u64 *packets)
{
	const struct capture *c = NULL;
	u64 at;
	u32 i;

	for (i = 0; i < CAPTURES && !c; i++)
		if (f->captures->of[i] && f->captures->of[i]->owner == owner)
			c = f->captures->of[i];
	if (!c || load_acquire(&c->state) != CAPTURE_RUNNING)
		return -ENOENT;
	if (!*upto)
		*upto = load_acquire(&f->hca->capture.head);
	pthread_mutex_lock(&f->captures->lock);
	at = c->at;
	pthread_mutex_unlock(&f->captures->lock);
	*packets = load_relaxed(&c->count.taken);
	return at >= *upto ? 0 : -EAGAIN;
}

static const char *capture_state_name(const struct proto_capture *q)
{
	switch (q->state) {
	case CAPTURE_OPENING:
	case CAPTURE_READY:
		return "starting";
	case CAPTURE_RUNNING:
		return "running";
	case CAPTURE_STOPPING:
		return "stopping";
	default:
		return q->err ? "failed" : "ended";
	}
}

static void capture_json_add_str(struct json_object *o, const char *key, const char *s)
{
	if (s[0])
		json_add_str(o, key, s);
}

static struct json_object *capture_json(const struct proto_capture *q)
{
	struct json_object *o = json_object_new_object();

	json_add_int(o, "capture", q->id);
	capture_json_add_str(o, "file", q->path);
	capture_json_add_str(o, "state", capture_state_name(q));
	capture_json_add_str(o, "node", q->node);
	capture_json_add_str(o, "device", q->dev);
	if (q->port)
		json_add_int(o, "port", q->port);
	capture_json_add_str(o, "filter", q->filter);
	if (q->snaplen)
		json_add_int(o, "snaplen", q->snaplen);
	if (q->ring_bytes)
		json_add_int(o, "ring_size", q->ring_bytes);
	if (q->ring_files)
		json_add_int(o, "ring_files", q->ring_files);
	json_add(o, "lossy", json_object_new_boolean((int)q->lossy));
	json_add_int(o, "packets", q->packets);
	json_add_int(o, "bytes", q->bytes);
	json_add_int(o, "filtered", q->filtered);
	json_add_int(o, "lost", q->lost);
	json_add_int(o, "files", q->files);
	if (q->err)
		capture_json_add_str(o, "error", strerror(q->err));
	return o;
}

static void capture_print_one(FILE *out, const struct proto_capture *q)
{
	fprintf(out, "%-4u %-9s %10llu %12llu %10llu %8llu  %s", q->id, capture_state_name(q),
		(unsigned long long)q->packets, (unsigned long long)q->bytes,
		(unsigned long long)q->filtered, (unsigned long long)q->lost, q->path);
	if (q->err)
		fprintf(out, ": %s", strerror(q->err));
	fputc('\n', out);
}

static void capture_print_all(const struct fabric *f, FILE *out, bool json)
{
	struct json_object *all = json_object_new_array();
	static struct proto_capture q;
	bool any = false;
	u32 i;

	for (i = 0; i < CAPTURES; i++) {
		if (!f->captures->of[i] || f->captures->of[i]->told)
			continue;
		capture_describe(f->captures->of[i], &q);
		if (json)
			json_append(all, capture_json(&q));
		else if (!any)
			fprintf(out, "%-4s %-9s %10s %12s %10s %8s  FILE\n", "N", "STATE",
				"PACKETS", "BYTES", "FILTERED", "LOST");
		if (!json)
			capture_print_one(out, &q);
		any = true;
	}
	if (json)
		json_print(out, all);
}

int fabric_capture_list(struct fabric *f, u32 flags)
{
	struct text_out text;
	FILE *out = text_begin(&text);

	if (!out)
		return -ENOMEM;
	capture_print_all(f, out, flags & PROTO_F_JSON);
	return text_end(&text);
}
