/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "ebpf/engine/features.h"
#include "subjects/subject.h"

/*
 * A BPF object (programs and maps), loaded by libbpf: built in, or from a file. The order of calls
 * is: open, (resize, leave_out, settings), load, (maps), attach, free. All programs that are not
 * left out are loaded, and attached by their section names. Those of the section "raw_tp" run only
 * by ebpf_object_run(), those of the section "tp" only by ebpf_object_attach_to_tracepoint(), and
 * those of the section "perf_event" only by ebpf_object_attach_to_event().
 *
 * Functions return -errno and set e to the most useful line of the logs of libbpf and the verifier.
 */
struct ebpf_object;
struct bpf_map;
struct btf;

/* The scope: which threads are counted. All threads, or those of the listed processes and control
 * groups, and of the subject. */
struct ebpf_scope {
	uint32_t own_pid; /* pid of sonda-probes, which is not counted */
	const uint32_t *pids; /* process ids; borrowed */
	size_t n_pids; /* 0: no list */
	size_t n_later_pids; /* room for processes that the programs add to the list */
	const struct subject_ids *subject; /* in addition to these; borrowed, NULL: none */
	bool has_cgroups;
	const uint64_t *cgroups; /* ids; borrowed */
	size_t n_cgroups;
	uint64_t outlier_ns; /* longer waits become slices; 0: none */
	uint32_t outliers_per_second; /* limit per CPU */
};

/* Parses an image; creates no map or program yet. Returns 0, or -errno and sets e. */
int ebpf_object_open(const struct ebpf_image *image, struct ebpf_object **ret, struct err_text *e);
/* Sets the size of a map. Call it before the load. No-op if the map does not exist. */
void ebpf_object_resize(struct ebpf_object *o, const char *map, uint32_t max_entries);
/* Sets flags of a map in addition to those of its definition (BPF_F_...). */
void ebpf_object_set_map_flags(struct ebpf_object *o, const char *map, uint32_t flags);
/* Leaves out a map: it is not created, and no program that uses it may be loaded. */
void ebpf_object_leave_out_map(struct ebpf_object *o, const char *map);
/* Uses a map that exists, such as one that several objects share. Returns 0 or -errno. */
int ebpf_object_use_map(struct ebpf_object *o, const char *map, int fd);
bool ebpf_object_has_map(const struct ebpf_object *o, const char *map);
/* Leaves out a program, such as one whose tracepoint the kernel lacks. */
void ebpf_object_leave_out_program(struct ebpf_object *o, const char *program);
/* Returns the SONDA_FIELDS slots of the object's settings, all with size 0, for the caller to fill
 * in. */
struct sonda_field *ebpf_object_fields(struct ebpf_object *o);

/* Sets the constants of a section, such as ".rodata.x"; size is that of the section. */
void ebpf_object_set_constants(struct ebpf_object *o, const char *section, const void *data,
			       size_t size);

/* Loads the object. Sets the section .rodata.sonda, which a user program may lack, and fills the
 * maps of the scope. */
int ebpf_object_load(struct ebpf_object *o, const struct ebpf_scope *s, uint32_t switches,
		     struct err_text *e);
/* Attaches the programs. The subject of the scope must still be valid: groups of it that were
 * created since it was found are added. */
int ebpf_object_attach(struct ebpf_object *o, struct err_text *e);
/* Adds a control group to the scope of a loaded object, with those below it. Their threads count
 * from now on. Returns 0 or -errno. */
int ebpf_object_add_group(struct ebpf_object *o, uint64_t id);
/* Returns true if the group itself is in the scope. */
bool ebpf_object_has_group(const struct ebpf_object *o, uint64_t id);
/* Attaches a program of the section "tp" to an event "group/name", until the object is freed.
 * Returns 0, or -errno and sets e. */
int ebpf_object_attach_to_tracepoint(struct ebpf_object *o, const char *program, const char *event,
				     struct err_text *e);
/* Attaches a program of a section "perf_event" to an event of perf_event_open(), until its
 * descriptor is closed. Returns 0 or -errno. */
int ebpf_object_attach_to_event(const struct ebpf_object *o, const char *program, int event);
/* Runs an attached program of a section "iter/...". Returns a descriptor from which its output is
 * read, and which the caller closes, or -errno. */
int ebpf_object_open_iterator(const struct ebpf_object *o, const char *program);
/* Runs a program of the section "raw_tp" on a CPU. Returns 0 or -errno: -ENXIO if it is offline. */
int ebpf_object_run(const struct ebpf_object *o, const char *program, uint32_t cpu,
		    uint64_t argument);
/* Detaches and unloads. No-op for NULL. */
void ebpf_object_free(struct ebpf_object *o);
DEFINE_DESTRUCTOR(struct ebpf_object *, ebpf_object_free)

/* Returns the descriptor of a map of a loaded object, owned by the object, or -ENOENT. */
int ebpf_object_map(const struct ebpf_object *o, const char *map);
/* The first returns the map after `map` (NULL: the first map), or NULL after the last; the second
 * returns the BTF. Both are owned by the object. */
const struct bpf_map *ebpf_object_next_map(const struct ebpf_object *o, const struct bpf_map *map);
const struct btf *ebpf_object_btf(const struct ebpf_object *o);
/* Starts the next period. Returns the number of the period that ended, or 0 on error. */
uint64_t ebpf_object_next_period(struct ebpf_object *o);

/* Returns the run time and run count of all its programs since the load, while run time statistics
 * were on, and how often the kernel skipped a program because another one was running on the CPU
 * (since Linux 5.12). */
void ebpf_object_read_cost(const struct ebpf_object *o, uint64_t *ret_ns, uint64_t *ret_count,
			   uint64_t *ret_missed);

/* Enables the kernel's run time statistics until the descriptor is closed. Returns the descriptor
 * or -errno. They cost two clock reads for each run of a program. */
int ebpf_enable_stats(void);
/* Returns the number of values of a per-CPU map; at least 1. */
uint32_t ebpf_count_cpus(void);
