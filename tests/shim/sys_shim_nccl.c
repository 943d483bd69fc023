/* SPDX-License-Identifier: MIT */
/*
 * Loads libibverbs as NCCL does: dlopen() by name, then dlvsym() of 22 mandatory functions and of
 * the optional ones. Succeeds if all of them are the shim's.
 *
 *	sys_shim_nccl LIBRARY...
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct wanted {
	const char *name, *version;
} wanted[] = {
	{ "ibv_get_device_list", "IBVERBS_1.1" },
	{ "ibv_free_device_list", "IBVERBS_1.1" },
	{ "ibv_get_device_name", "IBVERBS_1.1" },
	{ "ibv_open_device", "IBVERBS_1.1" },
	{ "ibv_close_device", "IBVERBS_1.1" },
	{ "ibv_get_async_event", "IBVERBS_1.1" },
	{ "ibv_ack_async_event", "IBVERBS_1.1" },
	{ "ibv_query_device", "IBVERBS_1.1" },
	{ "ibv_query_port", "IBVERBS_1.1" },
	{ "ibv_query_gid", "IBVERBS_1.1" },
	{ "ibv_query_qp", "IBVERBS_1.1" },
	{ "ibv_alloc_pd", "IBVERBS_1.1" },
	{ "ibv_dealloc_pd", "IBVERBS_1.1" },
	{ "ibv_reg_mr", "IBVERBS_1.1" },
	{ "ibv_dereg_mr", "IBVERBS_1.1" },
	{ "ibv_create_cq", "IBVERBS_1.1" },
	{ "ibv_destroy_cq", "IBVERBS_1.1" },
	{ "ibv_create_qp", "IBVERBS_1.1" },
	{ "ibv_modify_qp", "IBVERBS_1.1" },
	{ "ibv_destroy_qp", "IBVERBS_1.1" },
	{ "ibv_fork_init", "IBVERBS_1.1" },
	{ "ibv_event_type_str", "IBVERBS_1.1" },
	{ "ibv_reg_mr_iova2", "IBVERBS_1.8" },
	{ "ibv_query_ece", "IBVERBS_1.10" },
	{ "ibv_set_ece", "IBVERBS_1.10" },
	{ "ibv_reg_dmabuf_mr", "IBVERBS_1.12" },
	{ "ibv_query_port_speed", "IBVERBS_1.16" },
	{ "rdma_create_id", "RDMACM_1.0" },
	{ "rsocket", "RDMACM_1.0" },
};

static int check_symbol(const char *what, const char *name, void *addr)
{
	Dl_info info;

	if (addr && dladdr(addr, &info) && strstr(info.dli_fname, "librdmaemu"))
		return 0;
	printf("%s %s: %s\n", what, name, addr ? "not the shim's" : "not found");
	return 1;
}

static int check_handle(void *lib)
{
	size_t i;
	int bad = 0;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct wanted *w = &wanted[i];

		bad |= check_symbol("dlvsym", w->name, dlvsym(lib, w->name, w->version));
		bad |= check_symbol("dlsym", w->name, dlsym(lib, w->name));
		if (!i)
			continue;
		/* A name on a node that is not its own must not be found. */
		if (!strcmp(w->version, "IBVERBS_1.1") && dlvsym(lib, w->name, "IBVERBS_1.5"))
			bad = printf("%s found on a wrong node\n", w->name);
	}
	return bad;
}

int main(int argc, char **argv)
{
	int i, bad = 0;

	for (i = 1; i < argc; i++) {
		void *lib = dlopen(argv[i], RTLD_NOW);
		void *again = dlmopen(LM_ID_BASE, argv[i], RTLD_LAZY | RTLD_LOCAL);
		void *loaded = dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD);

		if (!lib) {
			printf("%s: %s\n", argv[i], dlerror());
			return 1;
		}
		if (again != lib || loaded != lib)
			bad = printf("%s: not the same handle each time\n", argv[i]);
		bad |= check_handle(lib);
		dlclose(loaded);
		dlclose(again);
		dlclose(lib);
	}
	bad |= check_symbol("default", "ibv_open_device", dlsym(RTLD_DEFAULT, "ibv_open_device"));
	bad |= check_symbol("next", "ibv_open_device", dlsym(RTLD_NEXT, "ibv_open_device"));
	return !!bad;
}
