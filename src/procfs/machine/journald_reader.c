/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/journald_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/shared_library.h"
#include "base/text/number_read.h"
#include "base/text/span.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

#define FUNCTION(name) SHARED_FUNCTION(struct journald_library, name, "sd_journal_" #name)

static const struct shared_function functions[] = {
	FUNCTION(open),
	FUNCTION(close),
	FUNCTION(add_match),
	FUNCTION(get_fd),
	FUNCTION(process),
	FUNCTION(has_runtime_files),
	FUNCTION(has_persistent_files),
	FUNCTION(seek_head),
	FUNCTION(seek_tail),
	FUNCTION(previous),
	FUNCTION(next),
	FUNCTION(get_monotonic_usec),
	FUNCTION(restart_data),
	FUNCTION(enumerate_data),
};

int journald_library_open(struct journald_library *l, const char *file, struct strbuf *why)
{
	const char *text;
	int r;

	l->dirs[0] = "/run/log/journal";
	l->dirs[1] = "/var/log/journal";
	r = shared_library_open(file, functions, ARRAY_SIZE(functions), l, &l->handle, &text);

	if (r < 0) {
		strbuf_clear(why);
		strbuf_puts(why, text);
	}
	return r;
}

void journald_library_close(struct journald_library *l)
{
	shared_library_close(&l->handle);
	*l = (struct journald_library){0};
}

static const struct {
	const char *name;
	uint32_t field;
	bool is_number;
} rows[] = {
	{"MESSAGE", PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, false},
	{"PRIORITY", PB_SYSTEMD_JOURNALD_EVENT_PRIO, true},
	{"SYSLOG_IDENTIFIER", PB_SYSTEMD_JOURNALD_EVENT_TAG, false},
	{"TID", PB_SYSTEMD_JOURNALD_EVENT_TID, true},
	{"_COMM", PB_SYSTEMD_JOURNALD_EVENT_COMM, false},
	{"_EXE", PB_SYSTEMD_JOURNALD_EVENT_EXE, false},
	{"_GID", PB_SYSTEMD_JOURNALD_EVENT_GID, true},
	{"_HOSTNAME", PB_SYSTEMD_JOURNALD_EVENT_HOSTNAME, false},
	{"_PID", PB_SYSTEMD_JOURNALD_EVENT_PID, true},
	{"_TID", PB_SYSTEMD_JOURNALD_EVENT_TID, true},
	{"_SYSTEMD_UNIT", PB_SYSTEMD_JOURNALD_EVENT_SYSTEMD_UNIT, false},
	{"_TRANSPORT", PB_SYSTEMD_JOURNALD_EVENT_TRANSPORT, false},
	{"_UID", PB_SYSTEMD_JOURNALD_EVENT_UID, true},
};

/* Writes the field if the message has it and the entry had no such field before. data is untrusted
 * and may have any form. */
static void journald_entry_add(struct journald_entry *entry, struct pb_enc *e, const void *data,
			       size_t len)
{
	const char *text = data, *equals = len > 0 ? memchr(text, '=', len) : NULL;
	struct span name, value;
	uint32_t v;

	if (!equals)
		return;
	name = (struct span){text, (size_t)(equals - text)};
	value = (struct span){equals + 1, len - name.len - 1};
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!span_is(name, rows[i].name))
			continue;
		if (entry->has & 1u << rows[i].field)
			return;
		if (!rows[i].is_number)
			pb_enc_bytes(e, rows[i].field, value.p, MIN(value.len, JOURNALD_VALUE_MAX));
		else if (span_number(value, &v))
			pb_enc_u64(e, rows[i].field, v);
		else
			return;
		entry->has |= 1u << rows[i].field;
		return;
	}
}

/*
 * Finds the current end of the journal: the last entry that matches the filter; later entries are
 * new. If no entry matches, the reader goes before the first entry: at the end of an empty journal
 * libsystemd would never return a later one. libsystemd watches the directories that exist at the
 * open. So a journal that is created later is found by opening again, which is done only if one of
 * the directories has changed: each open reads several files.
 */

/* More fields than any entry has; limits the reads of an entry. */
#define FIELDS_MAX 1024
#define LOWEST_PRIORITY 7
/* A journal without files is opened again after this time even if its directories look the same. */
#define REOPEN_NS (60 * NS_PER_S)

static int add_match(struct journald_reader *r, const char *field, const char *value)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_printf(&text, "%s=%s", field, value);
	if (text.failed)
		return -ENOMEM;
	return r->lib->add_match(r->journal, text.s, text.len);
}

/* Adds the filter to the journal. Matches of the same field are alternatives; all fields must
 * match. */
static int add_matches(struct journald_reader *r)
{
	const struct journald_filter *f = &r->filter;
	bool all = f->max_priority < 0 || f->max_priority >= LOWEST_PRIORITY;
	int res = 0;

	for (int p = 0; !all && p <= f->max_priority && res >= 0; p++)
		res = add_match(r, "PRIORITY", (char[2]){(char)('0' + p)});
	for (size_t i = 0; i < f->n_identifiers && res >= 0; i++)
		res = add_match(r, "SYSLOG_IDENTIFIER", f->identifiers[i]);
	for (size_t i = 0; i < f->n_units && res >= 0; i++)
		res = add_match(r, "_SYSTEMD_UNIT", f->units[i]);
	return res;
}

static int seek_to_end(struct journald_reader *r)
{
	int res = r->lib->seek_tail(r->journal);

	if (res >= 0)
		res = r->lib->previous(r->journal);
	if (res == 0)
		res = r->lib->seek_head(r->journal);
	return res;
}

static bool has_journal_files(const struct journald_reader *r)
{
	return r->lib->has_runtime_files(r->journal) > 0 ||
	       r->lib->has_persistent_files(r->journal) > 0;
}

static struct journald_dir look_at_dir(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct journald_dir){0};
	return (struct journald_dir){.inode = st.st_ino,
				     .changed_ns = (uint64_t)st.st_ctim.tv_sec * NS_PER_S +
						   (uint64_t)st.st_ctim.tv_nsec};
}

static bool may_have_files_now(const struct journald_reader *r)
{
	for (size_t i = 0; i < JOURNALD_DIRS; i++) {
		struct journald_dir now = look_at_dir(r->lib->dirs[i]);

		if (now.inode != r->dirs[i].inode || now.changed_ns != r->dirs[i].changed_ns)
			return true;
	}
	return clock_mono_ns() - r->opened_ns >= REOPEN_NS;
}

static int open_journal(struct journald_reader *r)
{
	int res;

	/* Before the open: a later change must be found. */
	for (size_t i = 0; i < JOURNALD_DIRS; i++)
		r->dirs[i] = look_at_dir(r->lib->dirs[i]);
	r->opened_ns = clock_mono_ns();
	res = r->lib->open(&r->journal, JOURNALD_LOCAL_ONLY);
	if (res < 0) {
		r->journal = NULL;
		return res;
	}
	res = add_matches(r);
	/* Start the watch before seeking, so that no entry is missed in between. */
	if (res >= 0)
		res = r->lib->get_fd(r->journal);
	if (res >= 0) {
		r->has_files = has_journal_files(r);
		res = seek_to_end(r);
	}
	if (res < 0)
		journald_reader_close(r);
	return res < 0 ? res : 0;
}

int journald_reader_open(struct journald_reader *r, struct journald_library *lib,
			 const struct journald_filter *filter, uint64_t begin_us)
{
	*r = (struct journald_reader){.lib = lib, .filter = *filter, .begin_us = begin_us};
	return open_journal(r);
}

void journald_reader_close(struct journald_reader *r)
{
	if (r->journal)
		r->lib->close(r->journal);
	r->journal = NULL;
}

int journald_reader_fd(const struct journald_reader *r)
{
	return r->journal ? r->lib->get_fd(r->journal) : -EBADF;
}

/* Opens the journal again and reads it from its first entry; journald_reader_next() skips entries
 * from before the start. Returns 1 or -errno. */
static int reopen_journal(struct journald_reader *r)
{
	int res;

	journald_reader_close(r);
	res = open_journal(r);
	if (res == 0 && r->has_files)
		res = r->lib->seek_head(r->journal);
	return res < 0 ? res : 1;
}

int journald_reader_refresh(struct journald_reader *r)
{
	int res;

	if (!r->journal)
		return reopen_journal(r);
	res = r->lib->process(r->journal);
	if (res >= 0 && !r->has_files) {
		r->has_files = has_journal_files(r);
		if (!r->has_files && may_have_files_now(r))
			return reopen_journal(r);
	}
	return MIN(res, 0);
}

int journald_reader_next(struct journald_reader *r, uint64_t *ret_time_us)
{
	uint64_t us;
	int res;

	if (!r->journal)
		return JOURNALD_END;
	res = r->lib->next(r->journal);
	if (res <= 0)
		return res < 0 ? res : JOURNALD_END;
	res = r->lib->get_monotonic_usec(r->journal, &us, NULL);
	/* -ESTALE: an entry of another boot, whose clock is unrelated. */
	if (res < 0)
		return JOURNALD_BAD;
	if (us < r->begin_us)
		return JOURNALD_OLD;
	*ret_time_us = us;
	return JOURNALD_LINE;
}

int journald_reader_encode(struct journald_reader *r, struct pb_enc *e,
			   void (*on_field)(void *ctx, const void *data, size_t len), void *ctx)
{
	struct journald_entry entry = {0};
	const void *data;
	size_t len;
	int res;

	r->lib->restart_data(r->journal);
	for (unsigned i = 0; i < FIELDS_MAX; i++) {
		res = r->lib->enumerate_data(r->journal, &data, &len);
		if (res <= 0)
			return res;
		journald_entry_add(&entry, e, data, len);
		if (on_field)
			on_field(ctx, data, len);
	}
	return 0;
}
