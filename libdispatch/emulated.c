/* SPDX-License-Identifier: MIT */
/*
 * The emulator's library is a second one, next to the real ones: it is loaded by its path, with
 * symbols that nobody else sees, so that no function of libc or of libibverbs is replaced in the
 * process. Real providers keep the files, sockets and memory that they have without rdmaemu.
 *
 * Within an outer `rdmaemu run` that library may be loaded already: it is the real one then, with a
 * fabric of its own. The loader would return it for the same file, so a copy is loaded.
 *
 * The devices of the emulator live as long as the process. A child of fork() gets others, but its
 * inherited contexts still name those of its parent, so none is ever forgotten.
 */
#include "libdispatch/emulated.h"
#include "fabric/proto/env.h"
#include "libshim/interpose/interpose.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

const char interpose_soname[] = "librdmaemu-dispatch.so";
const bool interpose_follows = true;
const bool interpose_has_cm = true;
const bool interpose_has_efa = false;

struct known_device {
	struct known_device *next;
	const struct ibv_device *device;
};

static struct known_device *known;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t loading = PTHREAD_ONCE_INIT;
static void *library;

/* --- loading --- */

static void load_print_error(const char *path, const char *why)
{
	dprintf(STDERR_FILENO, "rdmaemu: %s: no emulated devices: %s: %s\n",
		program_invocation_short_name, path, why);
}

/* A descriptor of a copy of the file in memory, or -1 with errno. */
static int file_copy(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to = -1;
	struct stat st;
	ssize_t n = 1;

	if (from < 0)
		return -1;
	if (!fstat(from, &st))
		to = memfd_create("librdmaemu.so", MFD_CLOEXEC);
	while (to >= 0 && st.st_size && n > 0) {
		n = sendfile(to, from, NULL, (size_t)st.st_size);
		st.st_size -= n > 0 ? n : 0;
	}
	close(from);
	if (to >= 0 && n > 0)
		return to;
	if (to >= 0)
		close(to);
	return -1;
}

static void *load_copy(const char *path)
{
	char name[32];
	void *copy;
	int fd = file_copy(path);

	if (fd < 0) {
		load_print_error(path, strerror(errno));
		return NULL;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	copy = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!copy)
		load_print_error(path, dlerror());
	close(fd);
	return copy;
}

static void library_load(void)
{
	const char *path = getenv(PROTO_BESIDE_LIB_ENV);
	void (*stand_beside)(void);
	void *lib;

	/* A setuid program's environment is not its own; the loader has not preloaded this then. */
	if (!path || !*path)
		return;
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (lib) {
		dlclose(lib);
		lib = load_copy(path);
	} else {
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!lib)
			load_print_error(path, dlerror());
	}
	stand_beside = lib ? (void (*)(void))dlsym(lib, "rdmaemu_stand_beside") : NULL;
	if (stand_beside) {
		stand_beside();
		library = lib;
	} else if (lib) {
		load_print_error(path, "another version");
	}
}

void *emulated_symbol(void **slot, const char *name)
{
	void *fn = load_acquire(slot);
	int saved = errno;

	if (likely(fn))
		return fn;
	pthread_once(&loading, library_load);
	fn = library ? dlsym(library, name) : NULL;
	if (fn)
		store_release(slot, fn);
	errno = saved;
	return fn;
}

void *real_symbol_next(void **slot, const char *name)
{
	void *fn = next_symbol(slot, name);

	return fn ? fn : real_symbol(slot, REAL_VERBS, name);
}

bool is_real_library(const void *code)
{
	const char *base;
	Dl_info info;

	if (!dladdr(code, &info) || !info.dli_fname)
		return false;
	base = strrchr(info.dli_fname, '/');
	base = base ? base + 1 : info.dli_fname;
	return !strncmp(base, "librdmacm.so", 12) || !strncmp(base, "libibverbs.so", 13);
}

/* --- devices --- */

bool is_emulated_device(const struct ibv_device *device)
{
	const struct known_device *k;

	for (k = load_acquire(&known); k; k = k->next)
		if (k->device == device)
			return true;
	return false;
}

static void device_add(const struct ibv_device *device)
{
	struct known_device *k = malloc(sizeof(*k));

	if (!k)
		return;
	k->device = device;
	k->next = known;
	store_release(&known, k);
}

void emulated_devices_add(struct ibv_device *const *list)
{
	pthread_mutex_lock(&known_lock);
	for (; *list; list++)
		if (!is_emulated_device(*list))
			device_add(*list);
	pthread_mutex_unlock(&known_lock);
}
