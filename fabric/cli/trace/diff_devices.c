/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu trace diff` of traces whose devices differ.
 *
 * A run on hardware and one on the emulator differ in names, GUIDs, GIDs, LIDs and addresses, in
 * what devices answer about themselves, and in how often programs ask. None of that says whether
 * a program did the same on both. So lines of the first trace are rewritten for the devices of the
 * second one, as a replay does, and what devices of another kind may answer differently
 * (traces/compare/tolerance.c) is noted, not counted.
 *
 * Programs pass on what they were told: a limit becomes the size of a queue. An input, or the
 * answer to one, may therefore differ as well if the two values are those that the devices gave as
 * the same answer before, whatever the names of both fields.
 */
#include "fabric/cli/trace/diff_devices.h"
#include "fabric/common/json.h"
#include "traces/vtrace/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** struct line_pair - two lines of the same call. @result: where the result of each begins */
struct line_pair {
	struct diff_devices *d;
	const char *a, *b;
	const char *result_a, *result_b;
	enum cmp_asks asks;
	bool noting; /* the lines are the same: note what differs */
};

/* --- notes --- */

static const struct diff_note *note_find(const struct diff_devices *d, const struct diff_note *n)
{
	u32 i;

	for (i = 0; i < d->n_notes; i++)
		if (!strcmp(d->note[i].call, n->call) && !strcmp(d->note[i].field, n->field) &&
		    !strcmp(d->note[i].a, n->a) && !strcmp(d->note[i].b, n->b))
			return &d->note[i];
	return NULL;
}

static void note_add(struct diff_devices *d, const struct diff_note *n)
{
	struct diff_note *more;

	if (note_find(d, n))
		return;
	more = vt_array_room(d->note, d->n_notes, sizeof(*more));
	if (!more) {
		d->failed = -ENOMEM;
		return;
	}
	d->note = more;
	d->note[d->n_notes++] = *n;
}

static void note_copy(char *to, size_t cap, const char *from, size_t len)
{
	snprintf(to, cap, "%.*s", (int)(len < cap ? len : cap - 1), from);
}

/*
 * The answer of the devices that has these values, which a program may have passed on. 0 and 1 are
 * too common to tell.
 */
static const struct diff_note *note_find_answer(const struct diff_devices *d,
						const struct diff_note *n)
{
	u32 i;

	if (strtoul(n->a, NULL, 0) < 2 && n->a[1] == '\0')
		return NULL;
	if (strtoul(n->b, NULL, 0) < 2 && n->b[1] == '\0')
		return NULL;
	for (i = 0; i < d->n_notes; i++)
		if (d->note[i].asked && !strcmp(d->note[i].a, n->a) && !strcmp(d->note[i].b, n->b))
			return &d->note[i];
	return NULL;
}

/* --- words --- */

/* Whether a value may differ. A value that is missing is 0. Notes it, if the lines are the same. */
static bool pair_follows_from_devices(struct line_pair *p, const char *a, size_t a_len,
				      const char *b, size_t b_len, size_t name)
{
	const char *word = a ? a : b;
	bool result = a ? a > p->result_a : b > p->result_b, tolerated;
	struct diff_note n = { .a = "0", .b = "0" };

	if (!word || word[name] != '=')
		return false;
	note_copy(n.call, sizeof(n.call), p->a, strcspn(p->a, " "));
	note_copy(n.field, sizeof(n.field), word, name);
	if (a)
		note_copy(n.a, sizeof(n.a), a + name + 1, a_len - name - 1);
	if (b)
		note_copy(n.b, sizeof(n.b), b + name + 1, b_len - name - 1);
	/* Either MTU may be the smaller one. */
	tolerated = result && (cmp_word_is_tolerated(p->d->map, p->asks, word, b, name) ||
			       (a && b && cmp_word_is_tolerated(p->d->map, p->asks, b, a, name)));
	if (!result)
		tolerated = p->d->map->other && cmp_input_is_tolerated(p->a, a, b, name);
	n.asked = result && tolerated;
	if (!tolerated && !note_find_answer(p->d, &n))
		return false;
	if (p->noting)
		note_add(p->d, &n);
	return true;
}

static bool pair_is_same_word(void *arg, const char *a, size_t a_len, const char *b, size_t b_len,
			      size_t name)
{
	return (a_len == b_len && !memcmp(a, b, a_len)) ||
	       pair_follows_from_devices(arg, a, a_len, b, b_len, name);
}

static bool pair_may_lack(void *arg, const char *word, size_t len, size_t name, bool of_a)
{
	return of_a ? pair_follows_from_devices(arg, word, len, NULL, 0, name)
		    : pair_follows_from_devices(arg, NULL, 0, word, len, name);
}

/* --- lines --- */

static const char *line_result_begin(const char *line)
{
	const char *at = strstr(line, " = ");

	return at ? at : line + strlen(line);
}

static void line_note(struct diff_devices *d, const char *line, const char *a, const char *b)
{
	struct diff_note n = { .asked = false };

	note_copy(n.call, sizeof(n.call), line, strcspn(line, " "));
	note_copy(n.a, sizeof(n.a), a, strlen(a));
	note_copy(n.b, sizeof(n.b), b, strlen(b));
	note_add(d, &n);
}

bool diff_devices_is_same_line(struct diff_devices *d, const char *a, const char *b)
{
	static char mapped[VT_MAX_LINE];
	size_t call = strcspn(a, " "), len;
	struct line_pair p = { .d = d, .a = mapped, .b = b, .asks = cmp_line_asks(a) };
	struct cmp_judge judge = { .is_same = pair_is_same_word,
				   .may_lack = pair_may_lack,
				   .arg = &p };

	if (!strcmp(a, b))
		return true;
	if (!d->map || strncmp(a, b, call + 1) != 0 ||
	    cmp_line_remap(d->map, a, mapped, sizeof(mapped), &len))
		return false;
	p.result_a = line_result_begin(mapped);
	p.result_b = line_result_begin(b);
	if (cmp_words_are_same(&judge, mapped, b)) {
		p.noting = true;
		return cmp_words_are_same(&judge, mapped, b);
	}
	if (!cmp_result_is_tolerated(d->map, a))
		return false;
	line_note(d, a, p.result_a, p.result_b);
	return true;
}

int diff_devices_skip(struct diff_devices *d, const char *a, const char *b)
{
	if (!d->map || (a && b && !strncmp(a, b, strcspn(a, " ") + 1)))
		return 0;
	if (a && cmp_line_is_question(a)) {
		line_note(d, a, "asked", "not asked");
		return -1;
	}
	if (b && cmp_line_is_question(b)) {
		line_note(d, b, "not asked", "asked");
		return 1;
	}
	return 0;
}

/* --- devices --- */

void diff_devices_init(struct diff_devices *d, const struct vt_dir *a, const struct vt_dir *b,
		       bool capabilities)
{
	*d = (struct diff_devices){ .kind = CMP_KIND_BY_DEVICE };
	if (capabilities)
		d->kind = CMP_KIND_SAME;
	else if (vt_dir_is_real(a) != vt_dir_is_real(b))
		d->kind = CMP_KIND_OTHER;
}

void diff_devices_free(struct diff_devices *d)
{
	cmp_map_free(d->map);
	free(d->note);
	d->map = NULL;
	d->note = NULL;
}

static void devices_note_names(struct diff_devices *d)
{
	u32 i;

	for (i = 0; i < d->map->n_names; i++)
		if (strcmp(d->map->from_name[i], d->map->to_name[i]) != 0)
			line_note(d, "device", d->map->from_name[i], d->map->to_name[i]);
}

int diff_devices_map(struct diff_devices *d, const struct vt_dir *a, const struct vt_dir *b,
		     u32 nth)
{
	bool differs = false;
	int ret = 0;
	u32 i;

	cmp_map_free(d->map);
	d->map = cmp_map_new(&a->prog[nth].devices, &b->prog[nth].devices, d->kind);
	if (!d->map)
		return -ENOMEM;
	/* A program may name devices of the others. */
	for (i = 0; i < a->n_progs && i < b->n_progs && !ret; i++)
		if (i != nth)
			ret = cmp_map_add(d->map, &a->prog[i].devices, &b->prog[i].devices);
	if (ret)
		return ret;
	differs = d->map->differs || d->map->uneven || d->map->list;
	if (differs) {
		devices_note_names(d);
		return d->failed;
	}
	cmp_map_free(d->map);
	d->map = NULL;
	return 0;
}

/* --- output --- */

void diff_devices_print(const struct diff_devices *d, struct json_object *json)
{
	const struct diff_note *n;
	struct json_object *o;
	u32 i;

	for (i = 0; i < d->n_notes; i++) {
		n = &d->note[i];
		if (!json) {
			printf("~ %s%s%s: %s | %s\n", n->call, *n->field ? " " : "", n->field, n->a,
			       n->b);
			continue;
		}
		o = json_object_new_object();
		json_add(o, "devices", json_object_new_boolean(true));
		json_add_str(o, "call", n->call);
		json_add_str(o, "field", n->field);
		json_add_str(o, "a", n->a);
		json_add_str(o, "b", n->b);
		json_append(json, o);
	}
}
