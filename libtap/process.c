/* SPDX-License-Identifier: MIT */
/*
 * Start and end of the tap's users in a process.
 *
 * They start with the program's first call; a program without calls does not notice them. A child
 * of fork() starts anew with its own first call.
 */
#include "libtap/process.h"
#include "libshim/interpose/interpose.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

const char interpose_soname[] = "librdmaemu-tap.so";
const bool interpose_follows = true;
const bool interpose_has_cm = true;
const bool interpose_has_efa = true;

/* What TAP_USER() has collected. */
extern const struct tap_user *const __start_tap_users[] __attribute__((visibility("hidden")));
extern const struct tap_user *const __stop_tap_users[] __attribute__((visibility("hidden")));

/* Serializes tap_start(). */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_key;
static bool has_thread_key;

/* --- threads --- */

static void tap_thread_end(void *text)
{
	TAP_EACH(thread_end);
	tap_thread.text = NULL;
	tap_thread.epoch = 0;
	munmap(text, sizeof(struct vcall_text));
}

/* Return: false: no memory. */
static bool tap_thread_prepare(void)
{
	struct vcall_text *text;
	int saved = errno;
	u32 i;

	if (!tap_thread.text) {
		text = mmap(NULL, sizeof(*text), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		errno = saved;
		if (text == MAP_FAILED)
			return false;
		tap_thread.text = text;
		if (has_thread_key)
			pthread_setspecific(thread_key, text);
	}
	/* Users call into the library below: nobody sees that. */
	tap_thread.depth++;
	for (i = 0; i < tap.n; i++)
		if (tap.on[i]->thread_start && !tap.on[i]->thread_start())
			break;
	tap_thread.depth--;
	errno = saved;
	if (i < tap.n)
		return false;
	tap_thread.epoch = tap.epoch;
	return true;
}

/* --- start --- */

static void tap_reset_child(void)
{
	TAP_EACH(fork_child);
	tap.state = 0;
	tap.live = TAP_NOT_LIVE;
	tap.n = 0;
	tap.epoch++;
	tap_thread.depth = 0;
	tap_obj_forget_all();
	pthread_mutex_init(&starting, NULL);
}

/* The user of a slot, or NULL. */
static const struct tap_user *tap_user_find(u32 slot)
{
	const struct tap_user *const *u;

	/* cppcheck-suppress comparePointers ; the linker's bounds of one section */
	for (u = __start_tap_users; u < __stop_tap_users; u++)
		if ((*u)->slot == slot)
			return *u;
	return NULL;
}

#define TAP_HOOK_ADD(hook)                                                                         \
	if (tap.on[at]->hook) {                                                                    \
		tap.hooks.hook.at[tap.hooks.hook.n] = at;                                          \
		tap.hooks.hook.fn[tap.hooks.hook.n++] = tap.on[at]->hook;                          \
	}

static void tap_hooks_collect(void)
{
	u32 at;

	memset(&tap.hooks, 0, sizeof(tap.hooks));
	for (at = 0; at < tap.n; at++) {
		TAP_HOOKS(TAP_HOOK_ADD)
	}
}

/* The only user that has one of these hooks; NULL: none, or several. */
#define TAP_ONLY(begin, end)                                                                       \
	({                                                                                         \
		const struct tap_user *only_ = NULL;                                               \
		u32 i_, n_ = 0;                                                                    \
                                                                                                   \
		for (i_ = 0; i_ < tap.n; i_++)                                                     \
			if (tap.on[i_]->begin || tap.on[i_]->end) {                                \
				only_ = tap.on[i_];                                                \
				n_++;                                                              \
			}                                                                          \
		n_ == 1 ? only_ : NULL;                                                            \
	})

static void tap_quiet_collect(void)
{
	const struct tap_user *posts = TAP_ONLY(post_begin, post_end);
	const struct tap_user *polls = TAP_ONLY(poll_begin, poll_end);

	tap.post_quiet = posts ? posts->post_quiet : NULL;
	tap.poll_quiet = polls ? polls->poll_quiet : NULL;
}

static u32 tap_start_users(void)
{
	const struct tap_user *u;
	static bool once;
	u32 i, state = TAP_OFF;

	for (i = 0; i < TAP_USERS; i++) {
		u = tap_user_find(i);
		if (!u || !u->start())
			continue;
		tap.on[tap.n++] = u;
		if (u->objects)
			state = TAP_ON;
	}
	tap_hooks_collect();
	tap_quiet_collect();
	tap.pid = getpid();
	if (once || !tap.n)
		return state;
	once = true;
	has_thread_key = !pthread_key_create(&thread_key, tap_thread_end);
	if (!has_thread_key || pthread_atfork(NULL, NULL, tap_reset_child))
		tap_note("children or threads may be seen wrongly: %s", strerror(ENOMEM));
	return state;
}

bool tap_start(void)
{
	int saved = errno;

	if (load_acquire(&tap.state))
		return tap.n;
	pthread_mutex_lock(&starting);
	/* Nobody sees what the users call. */
	tap_thread.depth++;
	if (!tap.state) {
		store_release(&tap.state, tap_start_users());
		if (tap.state == TAP_ON)
			store_release(&tap.live, tap.epoch);
	}
	tap_thread.depth--;
	pthread_mutex_unlock(&starting);
	errno = saved;
	return tap.n;
}

bool tap_enter_first(void)
{
	u32 state = load_acquire(&tap.state);

	if (!state)
		tap_start();
	return state != TAP_OFF && load_acquire(&tap.live) == tap.epoch && tap_thread_prepare();
}

/* --- end --- */

/* Runs once, and not in a child of vfork(), which shares its parent's memory. */
static void tap_finish(void)
{
	static u32 done; /* epoch + 1 of the latest process that ended */
	u32 mine = tap.epoch + 1;

	if (load_acquire(&tap.state) != TAP_ON || tap.pid != getpid() ||
	    exchange(&done, mine) == mine)
		return;
	/*
	 * exit() within an operation, from a signal handler: this thread may hold the locks. All
	 * ends as if the process was killed.
	 */
	if (!tap_enter())
		return;
	TAP_EACH(finish);
	tap_leave();
}

static __attribute__((destructor)) void tap_finish_at_exit(void)
{
	tap_finish();
}

HOOK(void, _exit, int status) __attribute__((noreturn));
HOOK(void, _Exit, int status) __attribute__((noreturn));

void hook__exit(int status)
{
	tap_finish();
	libc_next(_exit)(status);
	__builtin_unreachable();
}

void hook__Exit(int status)
{
	tap_finish();
	libc_next(_Exit)(status);
	__builtin_unreachable();
}

bool tap_start_thread(void *(*run)(void *))
{
	sigset_t all, old;
	pthread_t thread;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = !pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (started)
		pthread_detach(thread);
	return started;
}
