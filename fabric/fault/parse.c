/* SPDX-License-Identifier: MIT */
/* Parses lines into fault rules. See rule.h; the words are in keys.c and values.c. */
#include "fabric/fault/keys.h"
#include "fabric/fault/parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#define WORDS  48u
#define BLANKS " \t\r\n"

/** struct words - a line that is being parsed. */
struct words {
	char buf[FAULT_TEXT];
	char *word[WORDS];
	u32 n, at;
};

int fault_refuse(struct fault_bad *bad, const char *word, const char *fmt, ...)
{
	va_list ap;

	snprintf(bad->word, sizeof(bad->word), "%s", word);
	va_start(ap, fmt);
	vsnprintf(bad->expected, sizeof(bad->expected), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int words_split(struct words *w, const char *text, struct fault_bad *bad)
{
	char *p = w->buf, *word;
	const char *c;

	*w = (struct words){ 0 };
	if (strlen(text) >= sizeof(w->buf))
		return fault_refuse(bad, "", "a rule of at most %u characters", FAULT_TEXT - 1);
	for (c = text; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\t' && *c != '\r' && *c != '\n')
			return fault_refuse(bad, "", "text without control characters");
	snprintf(w->buf, sizeof(w->buf), "%s", text);
	while ((word = strsep(&p, BLANKS))) {
		if (!*word)
			continue;
		if (w->n >= WORDS)
			return fault_refuse(bad, word, "at most %u words", WORDS);
		w->word[w->n++] = word;
	}
	return 0;
}

static const char *words_next(struct words *w)
{
	return w->at < w->n ? w->word[w->at++] : NULL;
}

static int rule_parse_name(struct fault_rule *r, struct words *w, struct fault_bad *bad)
{
	char *word = w->n ? w->word[0] : NULL;
	size_t n = word ? strlen(word) : 0;

	if (!n || word[n - 1] != ':')
		return 0;
	w->at++;
	word[n - 1] = '\0';
	if (n > FAULT_NAME || !hca_node_name_ok(word)) {
		word[n - 1] = ':';
		return fault_refuse(bad, word,
				    "a rule's name: 1 to 39 of A-Z a-z 0-9 . _ -, then ':'");
	}
	snprintf(r->name, sizeof(r->name), "%s", word);
	return 0;
}

/* Actions of two words, by the first one, and what may come second. */
static const struct act_family {
	const char *word;
	const char *seconds;
} families[] = {
	{ "cm", "drop, delay, duplicate, reject or mra" },
	{ "cq", "hold or delay" },
};

static const struct act_family *family_find(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(families); i++)
		if (strlen(families[i].word) == len && !strncmp(families[i].word, word, len))
			return &families[i];
	return NULL;
}

/* Report an unknown action with a list of all of them, without the second words. */
static int rule_parse_no_action(const char *word, struct fault_bad *bad)
{
	char all[256] = "";
	size_t n = 0, len;
	const char *first;
	u32 i;

	for (i = 0; (first = fault_act_first(i, &len)); i++)
		if (len)
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%.*s", i ? ", " : "",
					      (int)len, first);
	return fault_refuse(bad, word ? word : "", "an action: %s", all);
}

static int rule_parse_action(struct fault_rule *r, struct words *w,
			     const struct fault_act_def **def, struct fault_bad *bad)
{
	const char *word = words_next(w), *second;
	const struct act_family *family = word ? family_find(word, strlen(word)) : NULL;
	char both[32];

	if (family) {
		second = words_next(w);
		snprintf(both, sizeof(both), "%s %.20s", word, second ? second : "");
		*def = fault_act_def(both);
		if (!*def)
			return fault_refuse(bad, second ? second : word, "%s after %s",
					    family->seconds, word);
	} else {
		*def = word ? fault_act_def(word) : NULL;
	}
	if (!*def)
		return rule_parse_no_action(word, bad);
	r->act = (*def)->act;
	r->on = (*def)->on;
	while (fault_act_at(r->act_word) != *def)
		r->act_word++;
	return 0;
}

static int key_by_name(const char *word, size_t n)
{
	u32 key;

	for (key = 0; key < K_KEYS; key++)
		if (strlen(fault_key_name(key)) == n && !strncmp(fault_key_name(key), word, n))
			return (int)key;
	return -1;
}

/* The keys that an action takes, "node, peer, ...". */
static void keys_list(const struct fault_act_def *def, char *out, size_t size)
{
	size_t n = 0;
	u32 key;

	for (key = 0; key < K_KEYS && n < size; key++)
		if (def->keys & BIT64(key))
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "",
					      fault_key_name(key));
}

static bool word_has_digits(const char *word)
{
	return isdigit((unsigned char)word[*word == '-' || *word == '.']);
}

/* Report a word that is close to one the action takes. Return: -EINVAL, or 0: it resembles none. */
static int rule_parse_hint(const struct fault_act_def *def, const char *word, struct fault_bad *bad)
{
	size_t n = strlen(word);
	int key = key_by_name(word, n);

	if (key >= 0 && (def->keys & BIT64(key)))
		return fault_refuse(bad, word, "%s=VALUE", word);
	if (word_has_digits(word) && word[n - 1] == '%' && (def->keys & KEY(PERCENT)))
		return fault_refuse(bad, word, "a percentage, more than 0%% and at most 100%%");
	if (word_has_digits(word) && word[n - 1] == '%' && (def->keys & KEY(PROB)))
		return fault_refuse(bad, word, "prob=%s: %s takes no percentage alone", word,
				    def->word);
	if (word_has_digits(word) && (def->keys & KEY(TIME)))
		return fault_refuse(bad, word,
				    "a time with its unit, as 50us, more than 0 and at most 10s");
	if (word_has_digits(word) && (def->keys & KEY(RATE)))
		return fault_refuse(bad, word,
				    "a rate with its unit, as 10Gbit: bit, kbit, Mbit or Gbit");
	if (word_has_digits(word) && (def->keys & KEY(PERCENT)))
		return fault_refuse(bad, word, "a percentage with its sign, as 1%%");
	if (strchr(word, '|') && (def->keys & KEY(GROUPS)))
		return fault_refuse(
			bad, word, "two groups or more as a,b|c, each of nodes' names or, once, *");
	return 0;
}

static int rule_parse_no_word(const struct fault_act_def *def, const char *word,
			      struct fault_bad *bad)
{
	char keys[256];

	if (rule_parse_hint(def, word, bad))
		return -EINVAL;
	keys_list(def, keys, sizeof(keys));
	if (strchr(word, '='))
		return fault_refuse(bad, word, "a key of %s: %s", def->word, keys);
	return fault_refuse(bad, word, "%s; its keys: %s", def->expected, keys);
}

static int rule_parse_pair(struct fault_rule *r, const struct fault_act_def *def, const char *word,
			   const char *eq, struct fault_bad *bad)
{
	int key = key_by_name(word, (size_t)(eq - word));
	const char *expected;

	if (key < 0)
		return rule_parse_no_word(def, word, bad);
	if (!(def->keys & BIT64(key)))
		return fault_refuse(bad, word, "no %s=: %s does not take it",
				    fault_key_name((u32)key), def->word);
	if (r->has & BIT64(key))
		return fault_refuse(bad, word, "%s= once", fault_key_name((u32)key));
	r->has |= BIT64(key);
	expected = fault_key_parse(r, (enum fault_key)key, eq + 1);
	return expected ? fault_refuse(bad, word, "%s", expected) : 0;
}

static int rule_parse_word(struct fault_rule *r, const struct fault_act_def *def, const char *word,
			   struct fault_bad *bad)
{
	const char *eq = strchr(word, '=');
	int kind;

	if (eq && key_by_name(word, (size_t)(eq - word)) >= 0)
		return rule_parse_pair(r, def, word, eq, bad);
	kind = fault_bare_parse(r, def->keys, word);
	if (kind < 0)
		return rule_parse_no_word(def, word, bad);
	if ((r->has & BIT64(kind)) && kind != K_LIMIT)
		return fault_refuse(bad, word, "%s once", fault_key_name((u32)kind));
	r->has |= BIT64(kind);
	return 0;
}

int fault_parse(struct fault_rule *r, const char *text, struct fault_bad *bad)
{
	const struct fault_act_def *def = NULL;
	struct words w = { .n = 0 };
	const char *word;
	u32 i;
	int ret;

	memset(r, 0, sizeof(*r));
	memset(bad, 0, sizeof(*bad));
	r->when.prob = FAULT_PROB_ONE;
	r->due = FAULT_NEVER;
	ret = words_split(&w, text, bad);
	if (!ret)
		ret = rule_parse_name(r, &w, bad);
	if (!ret)
		ret = rule_parse_action(r, &w, &def, bad);
	if (ret || !def)
		return ret;
	/* The text that is shown: without the name, words separated by one blank. */
	for (i = !!r->name[0]; i < w.n; i++)
		snprintf(r->text + strlen(r->text), sizeof(r->text) - strlen(r->text), "%s%s",
			 r->text[0] ? " " : "", w.word[i]);
	while (!ret && (word = words_next(&w)))
		ret = rule_parse_word(r, def, word, bad);
	if (ret)
		return ret;
	for (i = 0; i < K_END; i++)
		if (def->need & ~r->has & BIT64(i))
			return fault_refuse(bad, def->word, "%s%s after it", fault_key_name(i),
					    i < K_KEYS ? "=" : "");
	r->triggered = r->on == FAULT_ON_TIME && (r->has & KEYS_TRIGGER);
	return fault_check(r, bad);
}

/* The rules of one line of a scenario. The line is modified. */
static int rule_parse_each(char *line, u32 number,
			   int (*each)(void *ctx, const char *rule, u32 line), void *ctx)
{
	char *rule;
	int ret = 0;

	line[strcspn(line, "#")] = '\0';
	while (!ret && (rule = strsep(&line, ";")))
		if (rule[strspn(rule, BLANKS)])
			ret = each(ctx, rule, number);
	return ret;
}

int fault_parse_lines(const char *text, size_t len, struct fault_bad *bad, u32 *line,
		      int (*each)(void *ctx, const char *rule, u32 line), void *ctx)
{
	const char *end = text + len, *nl;
	char buf[4 * FAULT_TEXT];
	int ret = 0;

	for (*line = 1; !ret && text < end; (*line)++, text = nl + 1) {
		nl = memchr(text, '\n', (size_t)(end - text));
		nl = nl ? nl : end;
		if ((size_t)(nl - text) >= sizeof(buf))
			return fault_refuse(bad, "", "a line of at most %zu characters",
					    sizeof(buf) - 1);
		memcpy(buf, text, (size_t)(nl - text));
		buf[nl - text] = '\0';
		ret = rule_parse_each(buf, *line, each, ctx);
		if (ret)
			break;
	}
	return ret;
}
