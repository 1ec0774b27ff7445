/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

/*
 * usage: ebpf_few_slots [OPTION]...        SLOTS=N, a power of two
 *
 * sonda-probes itself, whose programs in the kernel have so few slots for threads (bpf/slots.h):
 * where there are more threads they meet in them, as they else rarely do.
 */
#include "probes/main.c"

/* Instead of the library's. */
int bpf_object__load(struct bpf_object *o)
{
	int (*load)(struct bpf_object *);
	unsigned n = (unsigned)atoi(getenv("SLOTS"));
	struct bpf_map *slots = bpf_object__find_map_by_name(o, "slots");
	struct bpf_map *constants = bpf_object__find_map_by_name(o, ".rodata.slots");
	uint64_t mask = n - 1;

	if (slots && constants && !bpf_map__set_max_entries(slots, n) &&
	    !bpf_map__set_initial_value(constants, &mask, sizeof(mask)))
		fprintf(stderr, "%s has %u slots\n", bpf_object__name(o), n);
	*(void **)&load = dlsym(RTLD_NEXT, "bpf_object__load");
	return load(o);
}
