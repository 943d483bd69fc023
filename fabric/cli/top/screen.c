/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu top` in a terminal.
 *
 * From the top: the summary, the columns, the queue pairs; at the bottom fault rules, the last
 * entries of the journal, and the keys, which are those of htop where it has the same function. All
 * that has a colour can also be told by its place or text. A screen of less than 80 by 24 shows as
 * much as fits.
 */
#include "fabric/cli/top/top.h"
/* After all others: its macros are names of theirs. */
#include "fabric/cli/top/curses_library.h"

#include <stdio.h>
#include <stdlib.h>

#define SCREEN_FAULTS  3u
#define SCREEN_JOURNAL 4u
#define SCREEN_PAGE    10
#define KEY_ESCAPE     27
#define PAIR_HEAD      1
#define PAIR_BAD       2

/** enum screen_view - what the middle of the screen has. */
enum screen_view {
	VIEW_QPS,
	VIEW_ONE, /* a queue pair in detail */
	VIEW_HELP,
};

/**
 * struct screen - the terminal and what the user has chosen.
 * @list: queue pairs in their order, @n of them; @top: the first that is shown; @at: the chosen one
 * @chosen, @chosen_nth: its number and fabric, by which it is found again
 * @typing: the user types a filter
 */
struct screen {
	struct curses_library c;
	WINDOW *w;
	bool colours;
	struct top_source *source;
	struct top_sample sample;
	struct top_order order;
	const struct top_qp **list;
	u32 n, top, at;
	u32 chosen, chosen_nth;
	enum screen_view view;
	bool frozen;
	bool typing;
};

/* --- drawing ---------------------------------------------------------------------------------- */

static int screen_attributes(const struct screen *s, int attributes, int pair)
{
	return s->colours ? attributes | s->c.COLOR_PAIR(pair) : attributes;
}

static void screen_line(struct screen *s, int y, int attributes, const char *text)
{
	int width = s->c.getmaxx(s->w), n = (int)strlen(text), i;

	if (y < 0 || y >= s->c.getmaxy(s->w))
		return;
	s->c.wattrset(s->w, attributes);
	s->c.wmove(s->w, y, 0);
	s->c.waddnstr(s->w, text, width);
	for (i = n; i < width && attributes; i++)
		s->c.waddnstr(s->w, " ", 1);
	s->c.wattrset(s->w, 0);
}

/* Whether a queue pair needs attention. */
static bool qp_is_bad(const struct top_qp *qp)
{
	return !strcmp(qp->state, "ERR") || !strcmp(qp->state, "SQE");
}

static void screen_draw_qps(struct screen *s, int y, int end)
{
	u32 i, rows = end > y ? (u32)(end - y) : 0, width = (u32)s->c.getmaxx(s->w);
	char line[TOP_LINE];
	int attributes;

	if (s->at < s->top)
		s->top = s->at;
	if (rows && s->at >= s->top + rows)
		s->top = s->at - rows + 1;
	for (i = s->top; i < s->n && y < end; i++, y++) {
		top_columns_qp(line, width, s->sample.n_fabrics > 1, s->list[i]);
		attributes = qp_is_bad(s->list[i]) ? screen_attributes(s, A_BOLD, PAIR_BAD) : 0;
		screen_line(s, y, i == s->at ? (int)A_REVERSE : attributes, line);
	}
	if (!s->n)
		screen_line(s, y, 0,
			    s->order.filter[0] ? "No queue pair matches the filter."
					       : "No queue pairs.");
}

static void screen_draw_one(struct screen *s, int y)
{
	static const char *const names[TOP_COUNTERS] = { "bytes sent",	    "bytes received",
							 "packets sent",    "packets received",
							 "retransmissions", "RNR NAKs received" };
	const struct top_qp *qp = s->at < s->n ? s->list[s->at] : NULL;
	char line[TOP_LINE], rate[8];
	u32 i;

	if (!qp) {
		screen_line(s, y, 0, "The queue pair has gone.");
		return;
	}
	snprintf(line, sizeof(line), "Queue pair 0x%06x: %s, %s", qp->qpn, qp->type, qp->state);
	screen_line(s, y++, A_BOLD, line);
	snprintf(line, sizeof(line), "  program %s, process %llu, node %s, fabric %s", qp->program,
		 (unsigned long long)qp->pid, qp->node, qp->fabric);
	screen_line(s, y++, 0, line);
	snprintf(line, sizeof(line), "  peer %s", qp->peer[0] ? qp->peer : "unknown");
	screen_line(s, y++, 0, line);
	snprintf(line, sizeof(line), "  work requests in flight %llu, CQ of receives %llu of %llu",
		 (unsigned long long)qp->in_flight, (unsigned long long)qp->cq_used,
		 (unsigned long long)qp->cq_depth);
	screen_line(s, y++, 0, line);
	for (i = 0; i < TOP_COUNTERS; i++) {
		top_scaled(rate, qp->rate[i]);
		snprintf(line, sizeof(line), "  %-18s %20llu  %6s per second", names[i],
			 (unsigned long long)qp->count[i], rate);
		screen_line(s, y++, 0, line);
	}
}

static void screen_draw_help(struct screen *s, int y)
{
	static const char *const lines[] = {
		"Up, Down, PgUp, PgDn, Home, End   choose a queue pair",
		"Enter                             show it alone; Enter or Esc goes back",
		"< > F6                            sort by the column before or after",
		"I                                 reverse the order",
		"/ \\ F4                            show only lines with a text",
		"Z Space                           freeze and go on",
		"h ? F1                            this help",
		"q F10                             quit",
		"",
		"SENT/s, RCVD/s  bytes a second      RETRY  retransmissions so far",
		"PKT/s  packets sent a second        RNR    RNR NAKs received so far",
		"FLY    work requests in flight      CQ     completions of receives, not polled",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		screen_line(s, y++, 0, lines[i]);
}

/* The lines at the bottom. Return: the first of them. */
static int screen_draw_bottom(struct screen *s)
{
	u32 faults = s->sample.n_faults, entries = s->sample.n_journal, i;
	int y = s->c.getmaxy(s->w) - 1, first;
	char line[TOP_LINE];

	faults = faults < SCREEN_FAULTS ? faults : SCREEN_FAULTS;
	entries = entries < SCREEN_JOURNAL ? entries : SCREEN_JOURNAL;
	first = y - (int)(faults + entries);
	if (s->typing)
		snprintf(line, sizeof(line), "Filter: %s_", s->order.filter);
	else
		snprintf(line, sizeof(line),
			 "F1 Help  F4 Filter%s%.20s  F6 Sort: %s%s  Z %s  Enter Detail  F10 Quit",
			 s->order.filter[0] ? ": " : "", s->order.filter,
			 top_column_name(s->order.column), s->order.reverse ? " reversed" : "",
			 s->frozen ? "FROZEN" : "Freeze");
	screen_line(s, y, A_REVERSE, line);
	for (i = 0; i < faults; i++) {
		top_fault_line(&s->sample.fault[i], line, sizeof(line));
		screen_line(s, first + (int)i, 0, line);
	}
	for (i = 0; i < entries; i++)
		screen_line(s, first + (int)(faults + i), A_DIM,
			    s->sample.journal[s->sample.n_journal - entries + i]);
	return first;
}

static void screen_draw(struct screen *s)
{
	char line[TOP_LINE];
	int y = 0, end;
	u32 i;

	s->c.werase(s->w);
	for (i = 0; top_summary(&s->sample, i, line, sizeof(line)); i++)
		screen_line(s, y++, i ? 0 : A_BOLD, line);
	end = screen_draw_bottom(s);
	if (s->view == VIEW_QPS) {
		top_columns_head(line, (u32)s->c.getmaxx(s->w), s->sample.n_fabrics > 1);
		screen_line(s, y++, screen_attributes(s, s->colours ? 0 : A_REVERSE, PAIR_HEAD),
			    line);
		screen_draw_qps(s, y, end);
	} else if (s->view == VIEW_ONE) {
		screen_draw_one(s, y + 1);
	} else {
		screen_draw_help(s, y + 1);
	}
	s->c.wrefresh(s->w);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Sort again, and find the chosen queue pair. Return: 0 or -ENOMEM. */
static int screen_select(struct screen *s)
{
	const struct top_qp **list = calloc(s->sample.n_qps + 1, sizeof(*list));
	u32 i;

	if (!list)
		return -ENOMEM;
	free(s->list);
	s->list = list;
	s->n = top_select(&s->sample, &s->order, list);
	for (i = 0; i < s->n && (list[i]->qpn != s->chosen || list[i]->nth != s->chosen_nth); i++)
		;
	if (i < s->n)
		s->at = i;
	else if (s->view == VIEW_ONE)
		s->at = s->n; /* it has gone */
	else if (s->at >= s->n)
		s->at = s->n ? s->n - 1 : 0;
	return 0;
}

static int screen_sample(struct screen *s)
{
	struct top_sample new;
	int ret = top_sample_take(s->source, &new, s->sample.at ? &s->sample : NULL);

	if (ret) {
		top_sample_free(&new);
		return ret;
	}
	top_sample_free(&s->sample);
	s->sample = new;
	return screen_select(s);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void key_move(struct screen *s, int by)
{
	s64 at = (s64)s->at + by;

	if (!s->n)
		return;
	s->at = at < 0 ? 0 : at >= s->n ? s->n - 1 : (u32)at;
	s->chosen = s->list[s->at]->qpn;
	s->chosen_nth = s->list[s->at]->nth;
}

static void key_sort(struct screen *s, bool next)
{
	u32 n = 1; /* there is a first one */

	while (top_column_name(n))
		n++;
	s->order.column = (s->order.column + (next ? 1 : n - 1)) % n;
}

static void key_type(struct screen *s, int key)
{
	size_t n = strlen(s->order.filter);

	if (key == KEY_ESCAPE)
		s->order.filter[0] = '\0';
	if (key == KEY_ESCAPE || key == '\n' || key == '\r' || key == KEY_ENTER)
		s->typing = false;
	else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n)
		s->order.filter[n - 1] = '\0';
	else if (key >= ' ' && key <= '~' && n + 1 < sizeof(s->order.filter))
		s->order.filter[n] = (char)key;
}

/* Return: false: quit. */
static bool key_command(struct screen *s, int key)
{
	switch (key) {
	case 'q':
	case KEY_F(10):
		return false;
	case 'h':
	case '?':
	case KEY_F(1):
		s->view = s->view == VIEW_HELP ? VIEW_QPS : VIEW_HELP;
		break;
	case KEY_ESCAPE:
		s->view = VIEW_QPS;
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		key_move(s, 0);
		s->view = s->view == VIEW_QPS && s->n ? VIEW_ONE : VIEW_QPS;
		break;
	case '>':
	case '.':
	case KEY_F(6):
		key_sort(s, true);
		break;
	case '<':
	case ',':
		key_sort(s, false);
		break;
	case 'I':
		s->order.reverse = !s->order.reverse;
		break;
	case '/':
	case '\\':
	case KEY_F(4):
		s->typing = true;
		break;
	case 'Z':
	case ' ':
		s->frozen = !s->frozen;
		break;
	default:
		break;
	}
	return true;
}

static void key_choose(struct screen *s, int key)
{
	switch (key) {
	case KEY_UP:
		key_move(s, -1);
		break;
	case KEY_DOWN:
		key_move(s, 1);
		break;
	case KEY_PPAGE:
		key_move(s, -SCREEN_PAGE);
		break;
	case KEY_NPAGE:
		key_move(s, SCREEN_PAGE);
		break;
	case KEY_HOME:
		key_move(s, -(int)s->n);
		break;
	case KEY_END:
		key_move(s, (int)s->n);
		break;
	default:
		break;
	}
}

/* --- the terminal ----------------------------------------------------------------------------- */

/* Return: 0, or -1 after one line on stderr. */
static int screen_open(struct screen *s)
{
	const char *no = getenv("NO_COLOR");
	char why[256];

	if (curses_library_load(&s->c, why, sizeof(why)))
		return print_error("top: %s; --batch does without it", why);
	/* initscr() ends the process where it fails. */
	if (!s->c.newterm(NULL, stdout, stdin))
		return print_error("top: the terminal '%s' is unknown; --batch does without it",
				   getenv("TERM") ?: "");
	s->w = s->c.initscr();
	s->c.cbreak();
	s->c.noecho();
	s->c.keypad(s->w, TRUE);
	s->c.curs_set(0);
	s->colours = s->c.has_colors() && !(no && *no);
	if (s->colours) {
		s->c.start_color();
		s->c.use_default_colors();
		s->c.init_pair(PAIR_HEAD, COLOR_BLACK, COLOR_GREEN);
		s->c.init_pair(PAIR_BAD, COLOR_RED, -1);
	}
	return 0;
}

/* Show samples until the user quits. Return: 0 or -errno */
static int screen_loop(struct screen *s)
{
	u32 left = s->source->o->interval_ms;
	int key, ret = screen_sample(s);

	while (!ret) {
		screen_draw(s);
		s->c.wtimeout(s->w, (int)left);
		key = s->c.wgetch(s->w);
		if (key == ERR) {
			ret = s->frozen ? 0 : screen_sample(s);
			continue;
		}
		if (s->typing)
			key_type(s, key);
		else if (!key_command(s, key))
			return 0;
		else
			key_choose(s, key);
		ret = screen_select(s);
	}
	return ret;
}

int top_screen(struct top_source *source)
{
	static struct screen s;
	int ret;

	s.source = source;
	s.order.column = top_column_default();
	if (screen_open(&s))
		return 1;
	ret = screen_loop(&s);
	s.c.endwin();
	top_sample_free(&s.sample);
	free(s.list);
	return ret ? ctl_print_error(source->o, ret) : 0;
}
