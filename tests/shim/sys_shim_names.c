/* SPDX-License-Identifier: MIT */
/*
 * Prints the results of the pure functions of libibverbs and librdmacm, for all plausible
 * arguments. The output must be the same with and without the shim preloaded.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *sym(void *lib, const char *name)
{
	void *fn = dlsym(lib, name);

	if (!fn) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(1);
	}
	return fn;
}

/* All but those from @newer to @last, which libraries of rdma-core 44 do not know. */
static void print_names_but(void *lib, const char *name, int newer, int last)
{
	const char *(*str)(int) = (const char *(*)(int))sym(lib, name);
	int i;

	for (i = -3; i < 70; i++)
		if (i < newer || i > last)
			printf("%s %d %s\n", name, i, str(i));
}

static void print_names(void *lib, const char *name)
{
	print_names_but(lib, name, 70, 70);
}

static void print_rates(void *lib)
{
	int (*to_mult)(int) = (int (*)(int))sym(lib, "ibv_rate_to_mult");
	int (*to_mbps)(int) = (int (*)(int))sym(lib, "ibv_rate_to_mbps");
	int (*from_mult)(int) = (int (*)(int))sym(lib, "mult_to_ibv_rate");
	int (*from_mbps)(int) = (int (*)(int))sym(lib, "mbps_to_ibv_rate");
	int i;

	for (i = -3; i < 70; i++)
		printf("rate %d mult %d mbps %d\n", i, to_mult(i), to_mbps(i));
	for (i = -3; i < 1000; i++)
		printf("mult %d rate %d\n", i, from_mult(i));
	for (i = -3; i < 2000000; i++)
		if (from_mbps(i))
			printf("mbps %d rate %d\n", i, from_mbps(i));
}

int main(void)
{
	void *verbs = dlopen("libibverbs.so.1", RTLD_NOW);
	void *cm = dlopen("librdmacm.so.1", RTLD_NOW);
	const char *(*sysfs_path)(void);

	if (!verbs || !cm) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	print_names(verbs, "ibv_node_type_str");
	print_names(verbs, "ibv_port_state_str");
	print_names_but(verbs, "ibv_event_type_str", 20, 20);
	print_names(verbs, "ibv_wc_status_str");
	print_names_but(cm, "rdma_event_str", 16, 19);
	print_rates(verbs);
	sysfs_path = (const char *(*)(void))sym(verbs, "ibv_get_sysfs_path");
	printf("sysfs %s\n", sysfs_path());
	return 0;
}
