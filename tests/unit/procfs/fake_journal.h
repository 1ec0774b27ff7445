/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "procfs/machine/journald_reader.h"

/*
 * A journal in memory with the functions of libsystemd and their quirk: a position behind the end
 * of the journal does not move when entries are added. Include it once in a test; call
 * journal_reset() before each one.
 */

#define JOURNAL_LINES 40000
#define JOURNAL_MATCHES 32
#define JOURNAL_FIELDS 16

struct journal_line {
	uint64_t us;
	int time_error; /* get_monotonic_usec gives it */
	int data_error; /* enumerate_data gives it after the fields */
	const char *fields[JOURNAL_FIELDS]; /* up to the first NULL */
};

static struct {
	struct journal_line lines[JOURNAL_LINES];
	size_t n;
	size_t hidden; /* lines at the end that are in a file which process() has yet to find */
	char matches[JOURNAL_MATCHES][64];
	size_t n_matches;
	bool exists; /* has files */
	int open_error, process_error, next_error, load_error;
	int fds[2]; /* a pipe: readable when journal_poke was called */
	uint64_t line_ns; /* what reading the fields of a line takes at least */
	unsigned opened, closed, processed;
	enum { AT_HEAD, AT_LINE, AT_TAIL } place;
	size_t at; /* AT_LINE */
	unsigned field;
} journal = {.fds = {-1, -1}};

static inline void journal_reset(void)
{
	for (int i = 0; i < 2; i++)
		if (journal.fds[i] >= 0)
			close(journal.fds[i]);
	memset(&journal, 0, sizeof(journal));
	if (pipe2(journal.fds, O_NONBLOCK | O_CLOEXEC) < 0)
		abort();
	journal.exists = true;
}

static inline void journal_add(struct journal_line line)
{
	assert(journal.n < JOURNAL_LINES);
	journal.lines[journal.n++] = line;
}

static inline void journal_poke(void)
{
	if (write(journal.fds[1], "", 1) != 1)
		abort();
}

static inline bool same_field(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n + 1) == 0;
}

static inline bool line_has(const struct journal_line *l, const char *match)
{
	for (unsigned i = 0; i < JOURNAL_FIELDS && l->fields[i]; i++)
		if (strcmp(l->fields[i], match) == 0)
			return true;
	return false;
}

/* Of the matches of each field, one holds. */
static inline bool line_matches(const struct journal_line *l)
{
	for (size_t i = 0; i < journal.n_matches; i++) {
		bool any = false;

		for (size_t k = 0; k < journal.n_matches; k++)
			any |= same_field(journal.matches[i], journal.matches[k]) &&
			       line_has(l, journal.matches[k]);
		if (!any)
			return false;
	}
	return true;
}

static inline int do_open(struct sd_journal **ret, int flags)
{
	assert(flags == JOURNALD_LOCAL_ONLY);
	if (journal.open_error)
		return journal.open_error;
	journal.opened++;
	journal.n_matches = 0;
	journal.place = AT_HEAD;
	*ret = (struct sd_journal *)&journal;
	return 0;
}

static inline void do_close(struct sd_journal *j)
{
	assert(j == (struct sd_journal *)&journal);
	journal.closed++;
}

static inline int do_add_match(struct sd_journal *j, const void *data, size_t size)
{
	char *m = journal.matches[journal.n_matches++];

	assert(journal.n_matches <= JOURNAL_MATCHES && size < 64);
	memcpy(m, data, size);
	m[size] = '\0';
	return 0;
}

static inline int do_get_fd(struct sd_journal *j)
{
	return journal.fds[0];
}

static inline int do_process(struct sd_journal *j)
{
	char c[64];

	journal.processed++;
	journal.hidden = 0;
	while (read(journal.fds[0], c, sizeof(c)) > 0)
		;
	return journal.process_error;
}

static inline int do_has_files(struct sd_journal *j)
{
	return journal.exists;
}

static inline int do_has_no_files(struct sd_journal *j)
{
	return 0;
}

static inline int do_seek_head(struct sd_journal *j)
{
	journal.place = AT_HEAD;
	return 0;
}

static inline int do_seek_tail(struct sd_journal *j)
{
	journal.place = AT_TAIL;
	return 0;
}

static inline int do_previous(struct sd_journal *j)
{
	assert(journal.place == AT_TAIL);
	for (size_t i = journal.n; i-- > 0 && journal.exists;) {
		if (!line_matches(&journal.lines[i]))
			continue;
		journal.place = AT_LINE;
		journal.at = i;
		return 1;
	}
	return 0;
}

static inline int do_next(struct sd_journal *j)
{
	if (journal.next_error)
		return journal.next_error;
	if (journal.place == AT_TAIL || !journal.exists)
		return 0;
	for (size_t i = journal.place == AT_HEAD ? 0 : journal.at + 1;
	     i < journal.n - journal.hidden; i++) {
		if (!line_matches(&journal.lines[i]))
			continue;
		journal.place = AT_LINE;
		journal.at = i;
		return 1;
	}
	return 0;
}

static inline int do_get_monotonic(struct sd_journal *j, uint64_t *ret_usec, void *boot_id)
{
	const struct journal_line *l = &journal.lines[journal.at];

	assert(journal.place == AT_LINE && !boot_id);
	*ret_usec = l->us;
	return l->time_error;
}

static inline void do_restart(struct sd_journal *j)
{
	uint64_t until = clock_mono_ns() + journal.line_ns;

	while (clock_mono_ns() < until)
		;
	journal.field = 0;
}

static inline int do_enumerate(struct sd_journal *j, const void **data, size_t *len)
{
	const struct journal_line *l = &journal.lines[journal.at];
	const char *f = journal.field < JOURNAL_FIELDS ? l->fields[journal.field++] : NULL;

	if (!f)
		return l->data_error;
	*data = f;
	*len = strlen(f);
	return 1;
}

static inline struct journald_library journal_library(void)
{
	return (struct journald_library){
		.dirs = {"/nonexistent/run", "/nonexistent/var"},
		.open = do_open,
		.close = do_close,
		.add_match = do_add_match,
		.get_fd = do_get_fd,
		.process = do_process,
		.has_runtime_files = do_has_no_files,
		.has_persistent_files = do_has_files,
		.seek_head = do_seek_head,
		.seek_tail = do_seek_tail,
		.previous = do_previous,
		.next = do_next,
		.get_monotonic_usec = do_get_monotonic,
		.restart_data = do_restart,
		.enumerate_data = do_enumerate,
	};
}
