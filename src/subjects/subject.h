/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/pid_set.h"
#include "config/data_source_config.pb-c.h"

/* What a data source records (SubjectConfig): the groups that its names currently refer to, and the
 * threads in them. Call these in a coroutine, or where a few milliseconds do not matter: the walk
 * over the groups takes about 20 us for each. */
#define SUBJECT_GROUPS_MAX 256
#define SUBJECT_PROGRAM_LEN 15 /* characters of a thread's name that are compared */

/* Return true if the config names groups, or programs. NULL is allowed. */
bool subject_has_groups(const Pb__SubjectConfig *c);
bool subject_has_programs(const Pb__SubjectConfig *c);

struct subject_group {
	uint64_t id; /* in version 2 the id of BPF programs; the groups below it are included */
	bool is_v2;
	char *path; /* owned; below the mount of its hierarchy */
	char *dir; /* owned; its directory */
};

struct subject {
	struct subject_group *groups; /* owned */
	size_t n;
	size_t n_awaited; /* names that refer to no group yet */
	/* Owned: what identifies groups of version 2 that are created later, or again: a path, or
	 * the last part of one, which has no '/'. */
	char **names;
	size_t n_names;
};

/* Finds the groups. Returns 0; -ESRCH if a name is unknown, and may not be awaited; -ENOTUNIQ if it
 * matches several; -EINVAL if the config is invalid; -ENOENT if there are no control groups; or
 * another -errno. Sets e on failure: it lists names that exist. The caller frees in any case. */
int subject_find_groups(const Pb__SubjectConfig *c, const char *sys_root, struct subject *ret,
			struct err_text *e);
void subject_deinit(struct subject *s);

/* Adds the threads in the groups to the set. Returns 0 or -errno; removed groups count as empty. */
int subject_add_threads(const struct subject *s, struct pid_set *to);
/* Adds the processes that start the groups' processes: parents outside of the groups; for groups
 * that are awaited or empty, the service managers, the runtimes of containers, and those of the
 * config. */
void subject_add_spawners(const struct subject *s, const Pb__SubjectConfig *c,
			  const char *proc_root, struct pid_set *to);

/* Returns true if the process is in one of the groups, or in one with one of their names, or its
 * first thread has the name of one of the programs, according to /proc/PID. c and s as above; s may
 * be older than the process. */
bool subject_has_process(const struct subject *s, const Pb__SubjectConfig *c, const char *proc_root,
			 int32_t pid);

#define SUBJECT_IDS_PROGRAMS_MAX 8

struct cgroup_row;
struct event_base;

/* What BPF programs compare: ids of groups that exist; names of groups that are made later, as in
 * struct subject; and names of programs with NULs up to the end. The names of awaited containers
 * and pods are known only when their runtime has written its files. */
struct subject_ids {
	bool is_set; /* the config names a subject */
	const char *sys_root; /* borrowed */
	struct event_base
		*loop; /* borrowed, set by the caller: it brings the names of containers */
	uint64_t *groups; /* owned */
	size_t n_groups;
	char **names; /* owned, as is each of them */
	size_t n_names;
	char **containers, **pods; /* that are awaited; owned, as is each of them */
	size_t n_containers, n_pods;
	char programs[SUBJECT_IDS_PROGRAMS_MAX][SUBJECT_PROGRAM_LEN + 1];
	uint32_t n_programs;
};
/* Finds what the programs compare. Returns and sets e as subject_find_groups(); also -EOPNOTSUPP if
 * a group is one of version 1, and -E2BIG above the limits. The caller calls deinit in any case. */
int subject_find_ids(const Pb__SubjectConfig *c, const char *sys_root, struct subject_ids *ret,
		     struct err_text *e);
void subject_ids_deinit(struct subject_ids *ids);
/* Calls fn with the id of each group of version 2 that has one of the names now. */
void subject_ids_each_group(const struct subject_ids *ids, void (*fn)(void *ctx, uint64_t id),
			    void *ctx);
/* Returns true if it is an awaited container, or a pod or one of its containers, whose names are
 * known. */
bool subject_ids_is_awaited(const struct subject_ids *ids, const struct cgroup_row *row);

/* Adds the processes whose first thread has this name. Returns how many; 0, and the nearest name of
 * a process if there is one, else "". */
size_t subject_find_program(const char *proc_root, const char *program, struct pid_set *ret,
			    char nearest[static SUBJECT_PROGRAM_LEN + 1]);
