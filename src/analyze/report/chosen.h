/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "base/text/str.h"

/* All threads that were in a container, unit, pod or control group. */
struct chosen_subject {
	const char *kind; /* "container", "unit", "pod", "cgroup"; "": any of them */
	const char *name;
};

/* The threads that a report is about: those of words and of subjects. */
struct chosen_from {
	/* The number of a process or thread, or the name of a program or thread, with * and ?. A
	 * word that names a process or its main thread chooses all threads of the process. The name
	 * of a program is its file without the directory, unless the word has a '/'. */
	char *const *words;
	size_t n_words;
	const struct chosen_subject *subjects;
	size_t n_subjects;
	const struct store *store;
};

/* From here on, process.name is the whole title that a process has set ("postgres: bench COMMIT"),
 * of which trace_processor has only the first word. Returns an SQLite result code. */
int chosen_use_titles(sqlite3 *db);

/*
 * Makes the tables that the statements of reports read, and uses titles:
 *
 *	chosen(utid)	the threads that are named. Without names, those that were recorded:
 *			all threads, or those of store->recorded. Never the idle threads.
 *	chosen_group(cgroup_id)	the control groups of the subjects; no rows if there are none
 *	asked		one row; some: 1 if there are names; limited: 1 if the config selects
 *			processes, so that switches between others are missing
 *
 * Returns an SQLite result code, and sets *ret_missing to the first word or name without a thread
 * or group, or to NULL.
 */
int chosen_create(sqlite3 *db, const struct chosen_from *from, const char **ret_missing);

/* Returns the name of a process (without its directory) or thread that is most similar to word,
 * copied to best, or NULL if none is similar. */
const char *chosen_nearest(sqlite3 *db, const char *word, char best[static STR_NEAREST_SIZE]);
