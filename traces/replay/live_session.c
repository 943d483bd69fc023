/* SPDX-License-Identifier: MIT */
/**
 * DOC: plays recorded programs against a live one, and runs the real program where the record ends.
 *
 * Theory of operation
 * -------------------
 * The record of a program may have several parts (fabric/cli/replay/episodes.h). They are played
 * one after the other, each in a process of its own. The live program is started when the first
 * part listens, and does not notice the change. Between two parts, and before the real program,
 * nobody listens: after the last recorded connection a fault rule drops further requests (cm drop
 * REQ), which the rdma_cm retransmits. The rule is removed when the next part listens.
 *
 * With the real program all programs are recorded, even those that are only played, so that the new
 * episode has everything that the live program has met. It is kept only if the live program sent
 * requests to the real one.
 */
#include "traces/replay/live.h"
#include "traces/replay/replay.h"
#include "traces/replay/run.h"
#include "traces/replay/shared.h"
#include "traces/replay/world.h"
#include "traces/vtrace/append.h"
#include "traces/vtrace/command_line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLD	   "replay-hold"
#define GRACE_NS   3000000000u /* for the real program to end after the live one */
#define KILL_NS	   5000000000u
#define LOOK_NS	   100000000u
#define NOT_NUMBER (-1)

/**
 * struct live_session - a run. @listened: parts that listened; @asked: connections in their record
 */
struct live_session {
	const struct rp_args *a;
	struct rp_world *w;
	pid_t live, real;
	int live_status; /* NOT_NUMBER: it runs */
	bool live_listens, held, gone;
	uint64_t
		/* time of the latest check whether all programs of the live command have ended */
		looked;
	uint32_t played, listened, asked;
	struct rp_count sum;
	char why[4096]; /* the divergence, or "" */
};

static bool live_session_live_ended(struct live_session *s)
{
	int status;

	if (s->live > 0 && s->live_status == NOT_NUMBER &&
	    waitpid(s->live, &status, WNOHANG) == s->live)
		s->live_status = status;
	return s->live_status != NOT_NUMBER;
}

/* Describes which live program has ended, and how. */
static void live_session_print_end(const struct live_session *s, char *text, size_t size)
{
	char words[256] = "";
	int status = s->live_status, i;

	for (i = 0; s->a->live[i] && vt_command_add_word(words, sizeof(words), s->a->live[i]); i++)
		;
	if (WIFSIGNALED(status))
		snprintf(text, size, "the live program (%s) has ended with signal %d (%s)", words,
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(text, size, "the live program (%s) has ended with status %d", words,
			 WEXITSTATUS(status));
}

/* Returns the exit status of `rdmaemu record` if it could not start the live program, or 0. */
static int live_session_start_status(struct live_session *s)
{
	int status = live_session_live_ended(s) && WIFEXITED(s->live_status)
			     ? WEXITSTATUS(s->live_status)
			     : 0;

	return status >= 125 && status <= 127 && !rp_live_count(s->a->trace, false, rp_line_is_any)
		       ? status
		       : 0;
}

/*
 * Whether a recorded process is running: it holds a shared lock on the file "trace", even before
 * its first call.
 */
static bool trace_is_locked(const char *dir)
{
	char path[PATH_MAX];
	bool held;
	int fd;

	if (snprintf(path, sizeof(path), "%s/trace", dir) >= PATH_MAX)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	if (fd >= 0)
		close(fd);
	return held;
}

/* Tells the players when the live command has ended and can send nothing more. */
static void live_session_report_end(struct live_session *s)
{
	char text[512];

	if (s->gone || !live_session_live_ended(s) || vt_now() - s->looked < LOOK_NS)
		return;
	s->looked = vt_now();
	/* With the real program the players hold the lock as well. */
	s->gone = !rp_live_is_running(s->a->trace) && (s->a->real || !trace_is_locked(s->a->trace));
	if (!s->gone)
		return;
	live_session_print_end(s, text, sizeof(text));
	rp_live_set_gone(s->w, text);
}

static void live_session_hold_requests(struct live_session *s, bool on)
{
	const char *const add[] = { "fault", "add", HOLD ": cm drop REQ,SIDR_REQ" };
	const char *const remove[] = { "fault", "remove", HOLD };

	if (on == s->held)
		return;
	if (rp_run_command(s->a, on ? add : remove))
		snprintf(s->why, sizeof(s->why), "the fabric does not take the rule '%s'",
			 on ? add[2] : HOLD);
	s->held = on;
}

/* Leaves the status to be collected by waitpid(). */
static bool process_has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

/* Waits until @n programs of the live trace listen. Returns NULL, or what happened instead. */
static const char *live_session_wait_listen(struct live_session *s, bool played, uint32_t n,
					    pid_t pid)
{
	uint64_t since = vt_now();
	unsigned int rest = 0;

	while (rp_live_count(s->a->trace, played, rp_line_is_listen) < n) {
		if (live_session_live_ended(s) || process_has_ended(pid))
			return "ended before it listened";
		if (vt_now() - since > s->a->timeout)
			return "does not listen";
		rp_wait_step(&rest);
	}
	return NULL;
}

/* Whether all calls of a program that ended by @end in the record have ended here. */
static bool program_has_reached(struct rp_world *w, uint32_t prog, uint64_t end)
{
	struct rp_slot *slot = rp_slots_of(w, prog);
	uint32_t i;

	for (i = 0; i <= w->dir.prog[prog].n_threads; i++)
		if (__atomic_load_n(&slot[i].next_end, __ATOMIC_SEQ_CST) <= end)
			return false;
	return true;
}

/** struct stage - a part, and the numbers of the calls that the session waits for. */
struct stage {
	uint32_t prog;
	uint64_t listens; /* 0: never */
	uint64_t first, last; /* connection requests */
	pid_t player;
	bool is_listening, holds;
};

static int stage_map_share(struct live_session *s, const struct stage *g)
{
	int fd = memfd_create("rdmaemu-replay", 0);
	struct rp_world *w = s->w;
	uint32_t i, t;

	if (w->share)
		munmap(w->share, w->share_size);
	if (fd < 0 || ftruncate(fd, (off_t)w->share_size) || rp_world_map(w, fd, true))
		return -1;
	w->share->players = 1;
	s->gone = false;
	w->share->hold_at = g->holds ? g->last : 0;
	for (i = 0; i < w->dir.n_progs; i++)
		for (t = 0; i != g->prog && t <= w->dir.prog[i].n_threads; t++)
			rp_slots_of(w, i)[t].next_end = RP_DONE;
	return fd;
}

/* Runs repeatedly while a part is played. Returns false: the part need not go on. */
static bool stage_tend(struct live_session *s, struct stage *g)
{
	if (g->listens && !g->is_listening && program_has_reached(s->w, g->prog, g->listens)) {
		g->is_listening = true;
		if (!s->live)
			s->live = rp_start_live(s->a);
		live_session_hold_requests(s, false);
	}
	if (g->holds && !s->held && g->is_listening &&
	    program_has_reached(s->w, g->prog, g->last)) {
		live_session_hold_requests(s, true);
		__atomic_store_n(&s->w->share->held, 1, __ATOMIC_SEQ_CST);
	}
	live_session_report_end(s);
	if (live_session_start_status(s))
		return false;
	return !s->played || !g->listens || !live_session_live_ended(s) ||
	       program_has_reached(s->w, g->prog, g->first);
}

static void stage_run_player(struct live_session *s, struct stage *g, int fd)
{
	unsigned int rest = 0;
	bool needed = true;
	int status;

	g->player = rp_start_part(s->a, s->w, g->prog, fd);
	close(fd);
	while (needed && !waitpid(g->player, &status, WNOHANG)) {
		needed = stage_tend(s, g);
		rp_wait_step(&rest);
	}
	if (!needed) {
		kill(g->player, SIGKILL);
		waitpid(g->player, &status, 0);
		return;
	}
	rp_program_ended(s->w, g->prog, status);
	s->played++;
	s->listened += g->listens != 0;
	s->asked += rp_count_calls(&s->w->dir.prog[g->prog], rp_line_is_request, NULL, NULL);
	rp_result_add(&s->sum, s->w);
	if (rp_result_divergence(s->w))
		snprintf(s->why, sizeof(s->why), "%s", s->w->share->why);
}

/*
 * The live program does not listen, or has ended before. Returns 0 with @s->why set, or an exit
 * status after printing the reason.
 */
static int live_session_no_listener(struct live_session *s, const struct vt_program *p)
{
	const char *name = vt_info_get(&p->about, "name");
	char end[512];

	if (!live_session_live_ended(s))
		return rp_complain("the live program does not listen, as the recorded one did");
	if (live_session_start_status(s))
		return live_session_start_status(s);
	live_session_print_end(s, end, sizeof(end));
	snprintf(s->why, sizeof(s->why), "p%u (%.100s): waits for the live program to listen; %s",
		 p->num, name ? name : "?", end);
	return 0;
}

/* Plays a part. Returns 0, or an exit status after printing the reason. */
static int stage_play(struct live_session *s, uint32_t nth)
{
	const struct vt_program *p = &s->w->dir.prog[s->a->nth[nth]];
	struct stage g = { .prog = s->a->nth[nth] };
	const char *how = NULL;
	int fd;

	rp_count_calls(p, rp_line_is_listen, &g.listens, NULL);
	if (!rp_count_calls(p, rp_line_is_request, &g.first, &g.last))
		g.first = g.last = g.listens;
	g.holds = g.listens && (nth + 1 < s->a->n_as || s->a->real);
	fd = stage_map_share(s, &g);
	if (fd < 0)
		return rp_complain(strerror(errno));
	/* This part connects: the live program must listen first. */
	if (!g.listens && !s->live) {
		s->live = rp_start_live(s->a);
		if (s->live_listens)
			how = live_session_wait_listen(s, false, 1, s->live);
	}
	if (how) {
		close(fd);
		return live_session_no_listener(s, p);
	}
	stage_run_player(s, &g, fd);
	return live_session_start_status(s);
}

static void process_end_by_signal(pid_t pid, int sig)
{
	kill(pid, sig);
	if (rp_wait(pid, KILL_NS) < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/*
 * Starts the real program, and the live one if it is not running. Returns 0, or an exit status
 * after printing the reason.
 */
static int live_session_start_real(struct live_session *s)
{
	const char *how;

	if (s->a->live_first && !s->live) {
		s->live = rp_start_live(s->a);
		how = live_session_wait_listen(s, false, 1, s->live);
		if (how) {
			fprintf(stderr, "rdmaemu: replay: the live program %s\n", how);
			return 2;
		}
		s->real = rp_start_real(s->a);
		return 0;
	}
	s->real = rp_start_real(s->a);
	how = live_session_wait_listen(s, true, s->listened + 1, s->real);
	/* The live program needed nothing more. */
	if (how && s->live && live_session_live_ended(s)) {
		process_end_by_signal(s->real, SIGTERM);
		s->real = 0;
		return 0;
	}
	if (how) {
		fprintf(stderr, "rdmaemu: replay: the real program (%s) %s%s\n", s->a->real, how,
			s->live ? "" : "; use --live-first if the live program listens");
		return 2;
	}
	live_session_hold_requests(s, false);
	if (!s->live)
		s->live = rp_start_live(s->a);
	return 0;
}

/*
 * Runs the live program with the real one until both end. Returns 0, or an exit status after
 * printing the reason.
 */
static int live_session_run_real(struct live_session *s)
{
	uint64_t ended = 0, since;
	unsigned int rest = 0;
	int status = 0, ret;
	bool real_ended = false;

	ret = live_session_start_real(s);
	while (!ret && !live_session_live_ended(s)) {
		if (!real_ended && waitpid(s->real, &status, WNOHANG) == s->real) {
			real_ended = true;
			ended = vt_now();
		}
		if (real_ended && vt_now() - ended > s->a->timeout)
			ret = rp_complain(
				"the live program still runs after the real one has ended");
		rp_wait_step(&rest);
	}
	for (since = vt_now(); !real_ended && s->real > 0; rp_wait_step(&rest)) {
		if (waitpid(s->real, &status, WNOHANG) == s->real) {
			real_ended = true;
		} else if (ret || vt_now() - since > GRACE_NS) {
			process_end_by_signal(s->real, SIGTERM);
			return ret;
		}
	}
	if (!ret && status) {
		fprintf(stderr, "rdmaemu: replay: the real program has ended with %s %d\n",
			WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		ret = 1;
	}
	return ret;
}

/*
 * Adds the recording to the trace, if the real program did anything. Returns the number of
 * programs, or -1.
 */
static int live_session_keep_trace(struct live_session *s)
{
	const char *from = s->a->trace, *to = s->a->keep;
	char there[PATH_MAX];
	struct vt_error err;
	struct vt_dir d;
	uint32_t had = s->played ? s->asked : 0;
	int n;

	if (rp_live_count(from, true, s->played ? rp_line_is_request : rp_line_is_any) <= had)
		return 0;
	if (vt_dir_open(&d, from, &err))
		return rp_complain(err.text), -1;
	n = (int)d.n_progs;
	vt_dir_close(&d);
	snprintf(there, sizeof(there), "%s/trace", to);
	if (!access(there, F_OK)) {
		if (vt_append(to, from, &err) < 0)
			return rp_complain(err.text), -1;
	} else if (rename(from, to)) {
		fprintf(stderr, "rdmaemu: replay: %s: %s\n", to, strerror(errno));
		return -1;
	}
	return n;
}

static int live_session_finish_run(struct live_session *s, int ret)
{
	bool differs = s->why[0];
	int kept = 0, status;

	if (s->live > 0 && !live_session_live_ended(s))
		s->live_status = rp_wait(s->live, ret || differs ? 0 : s->a->timeout);
	if (s->live > 0 && s->live_status == NOT_NUMBER) {
		process_end_by_signal(s->live, SIGTERM);
		if (!ret && !differs)
			ret = rp_complain(
				"the live program still runs after the end of the record");
	}
	/* A run that fails is not kept. */
	if (s->real > 0 && !ret && !differs && !s->live_status)
		kept = live_session_keep_trace(s);
	if (kept < 0)
		return 2;
	if (!ret || differs)
		rp_result_show(s->a, s->played, &s->sum, differs ? s->why : NULL, (uint32_t)kept);
	status = s->live_status;
	if (ret || differs || s->live <= 0)
		return ret ? ret : differs;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int rp_live_session(const struct rp_args *a, struct rp_world *w)
{
	struct live_session s = { .a = a, .w = w, .live_status = NOT_NUMBER };
	uint32_t i;
	int ret = 0;

	for (i = 0; i < w->dir.n_progs; i++)
		s.live_listens |= a->n_as && i != a->nth[0] &&
				  rp_count_calls(&w->dir.prog[i], rp_line_is_listen, NULL, NULL);
	for (i = 0; i < a->n_as && !ret && !s.why[0] && (!i || !live_session_live_ended(&s)); i++)
		ret = stage_play(&s, i);
	/* If the live program listens, nothing can be left for the real one. */
	if (!ret && !s.why[0] && a->real &&
	    (!a->n_as || (s.listened && !live_session_live_ended(&s))))
		ret = live_session_run_real(&s);
	return live_session_finish_run(&s, ret);
}
