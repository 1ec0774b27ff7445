/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "ebpf/engine/features.h"

/*
 * An object of programs and maps in the kernel, by libbpf: of this program's own, or of a file. Its
 * life is one way: open, (resize, leave_out, settings), load, (maps), attach, free. All programs in it
 * that are not left out are loaded, and attached by their section names.
 *
 * Errors are -errno, with a sentence: what of libbpf's and the verifier's words tells most.
 */
struct ebpf_object;
struct bpf_map;
struct btf;

/* Whose waits and calls count: all threads', or of those that one of the two lists names. */
struct ebpf_scope {
	uint32_t own_pid; /* is left out */
	const uint32_t *pids; /* of processes; borrowed */
	size_t n_pids; /* 0: no list */
	bool has_cgroups;
	const uint64_t *cgroups; /* ids; borrowed */
	size_t n_cgroups;
	uint64_t outlier_ns; /* what takes longer is a slice; 0: nothing */
	uint32_t outliers_per_second; /* of each CPU */
};

int ebpf_object_open(const struct ebpf_image *image, struct ebpf_object **ret, struct err_text *e);
/* Before the load. Maps and programs that are not there are ignored. */
void ebpf_object_resize(struct ebpf_object *o, const char *map, uint32_t max_entries);
void ebpf_object_leave_out(struct ebpf_object *o, const char *map);
bool ebpf_object_has_map(const struct ebpf_object *o, const char *map);
/* Such as one whose hook this kernel does not have. */
void ebpf_object_leave_out_program(struct ebpf_object *o, const char *program);
/* The SONDA_FIELDS of its settings, none of them there, for the caller to fill. */
struct sonda_field *ebpf_object_fields(struct ebpf_object *o);

/* A section of constants, such as ".rodata.x", of that size. */
void ebpf_object_set_constants(struct ebpf_object *o, const char *section, const void *data,
			       size_t size);

/* Section .rodata.sonda, which a foreign one may be without, becomes s; the maps of its scope are filled. */
int ebpf_object_load(struct ebpf_object *o, const struct ebpf_scope *s, uint32_t switches,
		     struct err_text *e);
int ebpf_object_attach(struct ebpf_object *o, struct err_text *e);
/* Detaches and unloads. NULL is fine. */
void ebpf_object_free(struct ebpf_object *o);

/* The descriptor of a map of a loaded object, which owns it; or -ENOENT. */
int ebpf_object_map(const struct ebpf_object *o, const char *map);
/* All its maps, from NULL to NULL, and its types; libbpf's, the object's. */
const struct bpf_map *ebpf_object_next_map(const struct ebpf_object *o, const struct bpf_map *map);
const struct btf *ebpf_object_btf(const struct ebpf_object *o);
/* Begins the next period. The number of the one that is over, or 0: that failed. */
uint64_t ebpf_object_next_period(struct ebpf_object *o);

/* What all its programs took since they were loaded, while run time statistics were on; and how often
 * the kernel left one out, as it ran on that CPU already (from 5.12 on it counts that). */
void ebpf_object_cost(const struct ebpf_object *o, uint64_t *ret_ns, uint64_t *ret_count,
		      uint64_t *ret_missed);

/* Switches the kernel's run time statistics on until the descriptor is closed; -errno. They cost two
 * readings of a clock for each run of a program. */
int ebpf_stats_on(void);
/* How many values a per-CPU map has; at least 1. */
uint32_t ebpf_cpus(void);

/* The facts of the running kernel; free with ebpf_features_free. tracefs_root may be NULL. 0 or -ENOMEM. */
int ebpf_features_new(const char *tracefs_root, struct ebpf_features *ret);
void ebpf_features_free(struct ebpf_features *f);
