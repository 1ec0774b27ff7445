/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/client/read_tracks.h"
#include "unit/test.h"

/*
 * What sources made of the files of a whole machine, a line a value, against the list of what must
 * come out. tests/data/procfs/machines has the files of each machine, and one list for all
 * machines. The lists were made from the files by other means than the code under test.
 */

#define MACHINES "tests/data/procfs/machines/"
#define MACHINE_LINES 8192

static inline int machine_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Splits into lines and sorts them by bytes; returns how many. */
static inline size_t machine_sort(char *text, char **lines)
{
	size_t n = 0;

	for (char *save, *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		assert_true(n < MACHINE_LINES);
		lines[n++] = l;
	}
	qsort(lines, n, sizeof(*lines), machine_compare);
	return n;
}

/* Returns the lines of the list below "== MACHINE". */
static inline char *machine_list(const char *machine, const char *list)
{
	static char text[1 << 20];
	char path[256], head[64], *from, *to;
	FILE *f;

	snprintf(path, sizeof(path), MACHINES "%s", list);
	f = fopen(path, "r");
	assert_non_null(f);
	text[0] = '\n';
	text[1 + fread(text + 1, 1, sizeof(text) - 2, f)] = '\0';
	fclose(f);
	snprintf(head, sizeof(head), "\n== %s\n", machine);
	from = strstr(text, head);
	assert_non_null(from);
	from += strlen(head);
	to = strstr(from, "\n== ");
	if (to)
		*to = '\0';
	return from;
}

/* The same lines, in any order, and at_least of them; those that begin with except are not looked
 * at. text is cut up. */
static inline void machine_check(char *text, const char *machine, const char *list,
				 const char *except, size_t at_least)
{
	static char *got[MACHINE_LINES], *wanted[MACHINE_LINES];
	size_t n_got = machine_sort(text, got), k = 0,
	       n_wanted = machine_sort(machine_list(machine, list), wanted);

	for (size_t i = 0; i < n_got; i++) {
		if (strncmp(got[i], except, strlen(except)) == 0)
			continue;
		assert_true(k < n_wanted);
		assert_string_equal(got[i], wanted[k++]);
	}
	assert_int_equal(k, n_wanted);
	assert_true(k >= at_least);
}

/* "a/b/c" of the track and what it stands under. */
static inline void machine_put_path(FILE *out, const struct read_track *k)
{
	if (k->parent) {
		machine_put_path(out, read_by_uuid(k->parent));
		fputc('/', out);
	}
	fputs(k->name, out);
}

/* A line for each value that was read from tracks. */
static inline void machine_put_values(FILE *out)
{
	for (size_t i = 0; i < rd.n_values; i++) {
		const struct read_value *v = &rd.values[i];

		machine_put_path(out, read_by_uuid(v->uuid));
		if (v->is_double)
			fprintf(out, " %g\n", v->d);
		else
			fprintf(out, " %" PRId64 "\n", v->i);
	}
}
