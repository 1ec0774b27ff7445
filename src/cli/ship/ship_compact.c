/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/ship_compact.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/json_read.h"
#include "base/text/str.h"
#include "cli/ship/compact_store.h"
#include "cli/ship/compact_table.h"
#include "cli/ship/spool.h"

#define BATCH_MAX 10000u /* traces that are merged at a time */
#define MANIFEST_MAX (1u << 20) /* bytes of the manifest of a trace */
#define MERGED_MANIFEST_MAX (256u << 20)
#define TABLE_SIZE 65

struct compact_file {
	char table[TABLE_SIZE], sha256[SHA256_HEX_SIZE];
};

struct compact_trace {
	char uuid[SPOOL_UUID_SIZE], machine[SHIP_MACHINE_SIZE];
	struct strbuf facts; /* of the manifest, as JSON */
	struct compact_file *files; /* owned */
	size_t n_files, cap_files;
};

/* An object that a manifest of merged files names. */
struct merged_file {
	char key[SPOOL_KEY_MAX], sha256[SHA256_HEX_SIZE];
};

struct compact_day {
	const struct ship_options *options; /* borrowed */
	const volatile sig_atomic_t *stop; /* borrowed */
	struct compact_store store;
	/* UUIDs: of the merged traces, and of those that cannot be merged */
	struct compact_names merged, bad;
	struct merged_file *files; /* owned */
	size_t n_files, cap_files;
	/* the batch */
	struct compact_trace *traces; /* owned */
	size_t n_traces, cap_traces;
	char tables[SHIP_TABLES_MAX][TABLE_SIZE];
	size_t n_tables;
};

/* ---- keys ---- */

/* Writes the directory of a table's files of a day. Merged files are in one more directory, "all",
 * in the place of a machine's: so one pattern finds both. */
static void format_dir(const struct compact_day *d, bool is_merged, const char *table,
		       char ret[static SPOOL_KEY_MAX])
{
	snprintf(ret, SPOOL_KEY_MAX, "%sv1/%s/date=%s/%s", is_merged ? "merged/" : "", table,
		 d->options->compact, is_merged && strcmp(table, "manifests") != 0 ? "all/" : "");
}

static void put_table_key(const struct compact_day *d, const struct compact_trace *t,
			  const char *table, char ret[static SPOOL_KEY_MAX])
{
	snprintf(ret, SPOOL_KEY_MAX, "v1/%s/date=%s/machine=%s/%s.parquet", table,
		 d->options->compact, t->machine, t->uuid);
}

static bool is_table_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return n && n < TABLE_SIZE && !s[n] && strcmp(s, "traces") != 0 &&
	       strcmp(s, "manifests") != 0;
}

/* ---- lists of UUIDs ---- */

static int add_uuid(struct compact_names *to, const char *uuid)
{
	if (array_reserve(&to->of, &to->cap, to->n + 1, sizeof(*to->of)))
		return -ENOMEM;
	to->of[to->n] = strdup(uuid);
	return to->of[to->n++] ? 0 : -ENOMEM;
}

static int compare_uuids(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_uuids(struct compact_names *n)
{
	if (n->n)
		qsort(n->of, n->n, sizeof(*n->of), compare_uuids);
}

static bool has_uuid(const struct compact_names *n, const char *uuid)
{
	return n->n && bsearch(&uuid, n->of, n->n, sizeof(*n->of), compare_uuids);
}

/* Notes that a trace cannot be merged, and logs why. Returns 0 or -ENOMEM. */
static int reject_trace(struct compact_day *d, const char *uuid, const char *why)
{
	int r = add_uuid(&d->bad, uuid);

	log_warn("trace %s was not merged: %s", uuid, why);
	sort_uuids(&d->bad);
	return r;
}

/* ---- reading manifests ---- */

static int read_text(const struct compact_day *d, const char *key, size_t max, struct strbuf *ret,
		     struct err_text *e)
{
	_cleanup_(closep) int fd = -1;
	int r = compact_store_fetch(&d->store, key, NULL, e);

	if (r < 0)
		return r;
	fd = openat(d->store.root, compact_store_path(&d->store, key),
		    O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : fs_read_fd(fd, max, ret);
	compact_store_remove_copy(&d->store, key);
	return r < 0 ? err_set(e, r, "cannot read %s: %s", key, strerror(-r)) : 0;
}

static void read_text_member(struct json_reader *r, char *ret, size_t size)
{
	if (!json_take_string(r, ret, size)) {
		ret[0] = '\0';
		json_skip(r);
	}
}

static const struct compact_file *find_file(const struct compact_trace *t, const char *table)
{
	for (size_t i = 0; i < t->n_files; i++)
		if (!strcmp(t->files[i].table, table))
			return &t->files[i];
	return NULL;
}

/* Reads the files of a trace: its tables. Returns false if one has another key than it must
 * have. */
static bool read_files(const struct compact_day *d, struct json_reader *r, struct compact_trace *t)
{
	char key[SPOOL_KEY_MAX], expected[SPOOL_KEY_MAX], name[32];
	bool good = true;

	while (json_next_element(r)) {
		struct compact_file f = {.table = ""};

		if (!json_open(r, '{'))
			return false;
		while (json_next_member(r, name, sizeof(name))) {
			if (!strcmp(name, "table"))
				read_text_member(r, f.table, sizeof(f.table));
			else if (!strcmp(name, "sha256"))
				read_text_member(r, f.sha256, sizeof(f.sha256));
			else if (!strcmp(name, "key"))
				read_text_member(r, key, sizeof(key));
			else
				json_skip(r);
		}
		if (!f.table[0]) /* the trace itself */
			continue;
		put_table_key(d, t, f.table, expected);
		good &= is_table_name(f.table) && !strcmp(key, expected) &&
			t->n_files < SHIP_TABLES_MAX && !find_file(t, f.table);
		if (array_reserve(&t->files, &t->cap_files, t->n_files + 1, sizeof(f)))
			return false;
		if (good)
			t->files[t->n_files++] = f;
	}
	return good;
}

/* Copies a member that is a text, or a number, to the facts. */
static void append_fact(struct json_reader *r, const char *name, struct strbuf *to)
{
	char text[1024];
	const char *at;

	if (json_take_string(r, text, sizeof(text))) {
		strbuf_printf(to, ", \"%s\": ", name);
		strbuf_put_json(to, text);
		return;
	}
	while (r->at < r->end && strchr(" \t\r\n", *r->at))
		r->at++;
	at = r->at;
	json_skip(r);
	if (r->at > at && strspn(at, "0123456789") >= (size_t)(r->at - at))
		strbuf_printf(to, ", \"%s\": %.*s", name, (int)(r->at - at), at);
}

/* Reads the manifest of a trace. Another machine wrote it, so it may be hostile. Returns false if
 * it is not valid. */
static bool parse_manifest(const struct compact_day *d, const struct strbuf *text, const char *uuid,
			   struct compact_trace *ret)
{
	char name[32], found[SPOOL_UUID_SIZE] = "", machine[SHIP_MACHINE_SIZE];
	struct compact_trace *t = ret;
	struct json_reader r;
	bool good = true;

	json_reader_init(&r, text->s ? text->s : "", text->len);
	if (!json_open(&r, '{'))
		return false;
	snprintf(t->uuid, sizeof(t->uuid), "%s", uuid);
	while (json_next_member(&r, name, sizeof(name))) {
		if (!strcmp(name, "uuid"))
			read_text_member(&r, found, sizeof(found));
		else if (!strcmp(name, "machine"))
			read_text_member(&r, t->machine, sizeof(t->machine));
		else if (!strcmp(name, "source") || !strcmp(name, "problem") ||
			 !strcmp(name, "dropped_traces") || !strcmp(name, "start_realtime_ns"))
			append_fact(&r, name, &t->facts);
		else if (!strcmp(name, "files") && json_open(&r, '['))
			good &= read_files(d, &r, t);
		else
			json_skip(&r);
	}
	ship_make_machine(t->machine, machine);
	return json_end(&r) && good && !strcmp(found, uuid) && t->machine[0] &&
	       !strcmp(machine, t->machine) && !t->facts.failed;
}

/* Adds the traces and files of a manifest of merged files, which is an array: one element has the
 * files, each other one is a trace. Returns 0, -EBADMSG or -ENOMEM. */
static int parse_merged(struct compact_day *d, const struct strbuf *text)
{
	char name[32], uuid[SPOOL_UUID_SIZE];
	struct json_reader r;

	json_reader_init(&r, text->s ? text->s : "", text->len);
	if (!json_open(&r, '['))
		return -EBADMSG;
	while (json_next_element(&r)) {
		if (!json_open(&r, '{'))
			return -EBADMSG;
		while (json_next_member(&r, name, sizeof(name))) {
			if (!strcmp(name, "uuid") && json_take_string(&r, uuid, sizeof(uuid))) {
				if (add_uuid(&d->merged, uuid) < 0)
					return -ENOMEM;
				continue;
			}
			if (strcmp(name, "files") != 0 || !json_open(&r, '[')) {
				json_skip(&r);
				continue;
			}
			while (json_next_element(&r)) {
				struct merged_file f = {.key = ""};

				if (!json_open(&r, '{'))
					return -EBADMSG;
				while (json_next_member(&r, name, sizeof(name))) {
					if (!strcmp(name, "key"))
						read_text_member(&r, f.key, sizeof(f.key));
					else if (!strcmp(name, "sha256"))
						read_text_member(&r, f.sha256, sizeof(f.sha256));
					else
						json_skip(&r);
				}
				if (array_reserve(&d->files, &d->cap_files, d->n_files + 1,
						  sizeof(*d->files)))
					return -ENOMEM;
				d->files[d->n_files++] = f;
			}
		}
	}
	return json_end(&r) ? 0 : -EBADMSG;
}

static int read_merged(struct compact_day *d, struct err_text *e)
{
	char dir[SPOOL_KEY_MAX], key[SPOOL_KEY_MAX];
	struct compact_names names;
	int r;

	compact_names_deinit(&d->merged);
	d->n_files = 0;
	format_dir(d, true, "manifests", dir);
	r = compact_store_list(&d->store, dir, ".json", &names, e);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		struct strbuf text = {0};

		snprintf(key, sizeof(key), "%.256s%.200s", dir, names.of[i]);
		r = read_text(d, key, MERGED_MANIFEST_MAX, &text, e);
		if (r == 0 && (r = parse_merged(d, &text)) < 0)
			err_set(e, r,
				r == -ENOMEM ? "out of memory"
					     : "%s is not a valid manifest of merged files",
				key);
		strbuf_deinit(&text);
	}
	sort_uuids(&d->merged);
	compact_names_deinit(&names);
	return r;
}

/* ---- the batch ---- */

static void compact_trace_deinit(struct compact_trace *t)
{
	strbuf_deinit(&t->facts);
	free(t->files);
}

static void clear_batch(struct compact_day *d)
{
	for (size_t i = 0; i < d->n_traces; i++)
		compact_trace_deinit(&d->traces[i]);
	d->n_traces = d->n_tables = 0;
}

/* Sorts by machine, then by UUID: the order of the merged rows. */
static int compare_traces(const void *a, const void *b)
{
	const struct compact_trace *x = a, *y = b;
	int r = strcmp(x->machine, y->machine);

	return r ? r : strcmp(x->uuid, y->uuid);
}

static int list_tables(struct compact_day *d)
{
	for (size_t i = 0; i < d->n_traces; i++) {
		for (size_t f = 0; f < d->traces[i].n_files; f++) {
			const char *table = d->traces[i].files[f].table;
			size_t at = 0;

			while (at < d->n_tables && strcmp(d->tables[at], table) != 0)
				at++;
			if (at < d->n_tables)
				continue;
			if (at == SHIP_TABLES_MAX)
				return -E2BIG;
			snprintf(d->tables[d->n_tables++], TABLE_SIZE, "%s", table);
		}
	}
	return 0;
}

/* Adds a trace to the batch, or to those that cannot be merged if its manifest is not valid.
 * Returns 0, or -errno and sets e. */
static int add_trace(struct compact_day *d, const char *dir, const char *uuid, struct err_text *e)
{
	struct strbuf text = {0};
	char key[SPOOL_KEY_MAX];
	int r;

	if (array_reserve(&d->traces, &d->cap_traces, d->n_traces + 1, sizeof(*d->traces)))
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(key, sizeof(key), "%.256s%s.json", dir, uuid);
	r = read_text(d, key, MANIFEST_MAX, &text, e);
	if (r == 0 || r == -EFBIG) {
		struct compact_trace *t = &d->traces[d->n_traces];

		memset(t, 0, sizeof(*t));
		if (r == 0 && parse_manifest(d, &text, uuid, t)) {
			d->n_traces++;
		} else {
			compact_trace_deinit(t);
			r = reject_trace(d, uuid, "its manifest is not valid");
		}
	}
	strbuf_deinit(&text);
	return r;
}

/* Makes a batch of up to BATCH_MAX traces that are neither merged nor known as bad, and lists their
 * tables. Returns 0, or -errno and sets e. */
static int read_batch(struct compact_day *d, struct err_text *e)
{
	char dir[SPOOL_KEY_MAX], uuid[SPOOL_UUID_SIZE];
	struct compact_names names;
	int r;

	clear_batch(d);
	format_dir(d, false, "manifests", dir);
	r = compact_store_list(&d->store, dir, ".json", &names, e);
	for (size_t i = 0; r == 0 && i < names.n && d->n_traces < BATCH_MAX; i++) {
		snprintf(uuid, sizeof(uuid), "%.36s", names.of[i]);
		if (strlen(names.of[i]) == strlen("UUID.json") - 4 + 36 && spool_is_uuid(uuid) &&
		    !has_uuid(&d->merged, uuid) && !has_uuid(&d->bad, uuid))
			r = add_trace(d, dir, uuid, e);
	}
	compact_names_deinit(&names);
	if (r < 0)
		return r;
	if (d->n_traces)
		qsort(d->traces, d->n_traces, sizeof(*d->traces), compare_traces);
	return list_tables(d) < 0
		       ? err_set(e, -E2BIG, "the traces have more than %d tables", SHIP_TABLES_MAX)
		       : 0;
}

/* Names a batch by a hash: equal traces with equal tables have the same name. */
static void name_batch(const struct compact_day *d, char ret[static SPOOL_UUID_SIZE])
{
	uint8_t hash[SHA256_SIZE];
	struct sha256 s;

	sha256_init(&s);
	for (size_t i = 0; i < d->n_traces; i++) {
		const struct compact_trace *t = &d->traces[i];

		sha256_add(&s, t->machine, strlen(t->machine) + 1);
		sha256_add(&s, t->uuid, sizeof(t->uuid));
		for (size_t f = 0; f < t->n_files; f++) {
			sha256_add(&s, t->files[f].table, strlen(t->files[f].table) + 1);
			sha256_add(&s, t->files[f].sha256, SHA256_HEX_SIZE);
		}
	}
	sha256_finish(&s, hash);
	spool_make_uuid(hash, ret);
}

/* ---- merging ---- */

/* Removes the files of a table that an earlier process has stored without a manifest. */
static int remove_orphans(const struct compact_day *d, const char *table, struct err_text *e)
{
	char dir[SPOOL_KEY_MAX], key[SPOOL_KEY_MAX];
	struct compact_names names;
	int r;

	format_dir(d, true, table, dir);
	r = compact_store_abort_uploads(&d->store, dir, e);
	if (r < 0)
		return r;
	r = compact_store_list(&d->store, dir, "", &names, e);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		size_t at = 0;

		snprintf(key, sizeof(key), "%.256s%.200s", dir, names.of[i]);
		while (at < d->n_files && strcmp(d->files[at].key, key) != 0)
			at++;
		if (at == d->n_files)
			r = compact_store_remove(&d->store, key, e);
	}
	compact_names_deinit(&names);
	return r;
}

/* The files of a table. */
struct table_sources {
	struct compact_source *of; /* owned */
	size_t *traces; /* owned: indexes */
	size_t n;
};

static void table_sources_deinit(const struct compact_day *d, struct table_sources *s)
{
	for (size_t i = 0; i < s->n; i++) {
		compact_store_remove_copy(&d->store, s->of[i].path);
		free(s->of[i].path);
	}
	free(s->of);
	free(s->traces);
}

/* Fetches the files of a table, for the caller to free in either case. Returns 0; -EBADMSG if a
 * trace was left out; or -errno and sets e. */
static int fetch_sources(struct compact_day *d, const char *table, struct table_sources *s,
			 struct err_text *e)
{
	char key[SPOOL_KEY_MAX];

	s->of = calloc(d->n_traces, sizeof(*s->of));
	s->traces = calloc(d->n_traces, sizeof(*s->traces));
	if (!s->of || !s->traces)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < d->n_traces; i++) {
		const struct compact_trace *t = &d->traces[i];
		const struct compact_file *f = find_file(t, table);
		int r;

		if (!f)
			continue;
		put_table_key(d, t, table, key);
		r = compact_store_fetch(&d->store, key, f->sha256, e);
		if (r == -EBADMSG || r == -ENOENT)
			return reject_trace(d, t->uuid, e->text) ?: -EBADMSG;
		if (r < 0)
			return r;
		s->of[s->n].machine = t->machine;
		s->of[s->n].path = strdup(compact_store_path(&d->store, key));
		s->traces[s->n] = i;
		if (!s->of[s->n++].path)
			return err_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

static int store_parts(const struct compact_day *d, const char *table, const char *local,
		       const char *uuid, const struct compact_table_result *result,
		       struct strbuf *manifest, struct err_text *e)
{
	char dir[SPOOL_KEY_MAX], key[SPOOL_KEY_MAX], file[SPOOL_KEY_MAX], hex[SHA256_HEX_SIZE];
	uint64_t bytes;
	int r = 0;

	format_dir(d, true, table, dir);
	for (unsigned part = 0; r == 0 && part < result->n_parts; part++) {
		compact_table_part(local, part, file);
		snprintf(key, sizeof(key), "%.256s%s-%u.parquet", dir, uuid, part);
		r = compact_store_put(&d->store, file, key, &bytes, hex, e);
		strbuf_printf(manifest,
			      "%s\n  {\"table\": \"%s\", \"key\": \"%s\", \"bytes\": %" PRIu64
			      ", \"sha256\": \"%s\"}",
			      str_ends(manifest->s ? manifest->s : "", "}") ? "," : "", table, key,
			      bytes, hex);
	}
	return r;
}

/* Merges the files of a table, stores the result, and appends it to the manifest. Returns as
 * fetch_sources(). */
static int merge_table(struct compact_day *d, const char *table, const char *uuid,
		       struct strbuf *manifest, struct err_text *e)
{
	char local[SPOOL_KEY_MAX], dir[SPOOL_KEY_MAX];
	struct compact_table_result result = {0};
	struct table_sources s = {0};
	int r = remove_orphans(d, table, e);

	format_dir(d, true, table, dir);
	snprintf(local, sizeof(local), "%.256s%s", dir, uuid);
	if (r == 0)
		r = fetch_sources(d, table, &s, e);
	if (r == 0 && !d->store.client)
		r = compact_store_make_dirs(&d->store, local, e);
	if (r == 0) {
		const struct compact_table_job job = {
			.root = d->store.root,
			.sources = s.of,
			.n_sources = s.n,
			.name = compact_store_path(&d->store, local),
			.part_bytes = d->options->part_bytes,
			.stop = d->stop,
		};

		r = compact_table_merge(&job, &result, e);
	}
	if (r == 0 && result.error == -EBADMSG && result.bad < s.n)
		r = reject_trace(d, d->traces[s.traces[result.bad]].uuid,
				 "one of its tables was not written by sonda")
			    ?: -EBADMSG;
	else if (r == 0 && result.error)
		r = err_set(e, -EIO, "cannot merge the table %s: %s", table, result.problem);
	if (r == 0) {
		log_info("%s: merged %zu files with %" PRIu64 " rows", table, s.n, result.rows);
		r = store_parts(d, table, compact_store_path(&d->store, local), uuid, &result,
				manifest, e);
	}
	table_sources_deinit(d, &s);
	return r;
}

/* Stores the manifest: from now on the traces are merged. */
static int store_manifest(const struct compact_day *d, const char *uuid, const struct strbuf *text,
			  struct err_text *e)
{
	char dir[SPOOL_KEY_MAX], key[SPOOL_KEY_MAX], file[SPOOL_KEY_MAX], hex[SHA256_HEX_SIZE];
	_cleanup_(closep) int fd = -1;
	uint64_t bytes;
	int r = 0;

	format_dir(d, true, "manifests", dir);
	snprintf(key, sizeof(key), "%.256s%s.json", dir, uuid);
	snprintf(file, sizeof(file), "%.480s.tmp", compact_store_path(&d->store, key));
	if (!d->store.client)
		r = compact_store_make_dirs(&d->store, key, e);
	if (r < 0)
		return r;
	if (text->failed)
		return err_set(e, -ENOMEM, "out of memory");
	fd = openat(d->store.root, file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0640);
	r = fd < 0 ? -errno : fs_write_all(fd, text->s, text->len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		return err_set(e, r, "cannot write %s: %s", file, strerror(-r));
	return compact_store_put(&d->store, file, key, &bytes, hex, e);
}

/* Merges the batch. Returns 0; -EBADMSG if a trace was left out, and nothing was merged; or -errno
 * and sets e. */
static int merge_batch(struct compact_day *d, struct err_text *e)
{
	struct strbuf manifest = {0};
	char uuid[SPOOL_UUID_SIZE];
	int r = 0;

	name_batch(d, uuid);
	strbuf_printf(&manifest, "[{\"merged\": \"%s\", \"date\": \"%s\", \"files\": [", uuid,
		      d->options->compact);
	for (size_t i = 0; r == 0 && i < d->n_tables; i++)
		r = *d->stop ? -EINTR : merge_table(d, d->tables[i], uuid, &manifest, e);
	strbuf_puts(&manifest, "]}");
	for (size_t i = 0; i < d->n_traces; i++)
		strbuf_printf(&manifest, ",\n {\"uuid\": \"%s\", \"machine\": \"%s\"%s}",
			      d->traces[i].uuid, d->traces[i].machine,
			      d->traces[i].facts.s ? d->traces[i].facts.s : "");
	strbuf_puts(&manifest, "]\n");
	if (r == 0)
		r = store_manifest(d, uuid, &manifest, e);
	if (r == 0)
		log_info("merged %zu traces from %s", d->n_traces, d->options->compact);
	strbuf_deinit(&manifest);
	return r;
}

/* ---- removing ---- */

static int remove_tables(struct compact_day *d, const char *uuid, struct err_text *e)
{
	char dir[SPOOL_KEY_MAX], key[SPOOL_KEY_MAX];
	int r;

	format_dir(d, false, "manifests", dir);
	clear_batch(d);
	r = add_trace(d, dir, uuid, e);
	for (size_t f = 0; r == 0 && d->n_traces && f < d->traces[0].n_files; f++) {
		put_table_key(d, &d->traces[0], d->traces[0].files[f].table, key);
		r = compact_store_remove(&d->store, key, e);
	}
	return r == -ENOENT ? 0 : r;
}

static int remove_merged(struct compact_day *d, struct err_text *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < d->n_files; i++)
		r = compact_store_check_sha256(&d->store, d->files[i].key, d->files[i].sha256, e);
	for (size_t i = 0; r == 0 && i < d->merged.n; i++)
		r = *d->stop ? -EINTR : remove_tables(d, d->merged.of[i], e);
	if (r == 0 && d->merged.n)
		log_info("%s: removed the per-trace tables of %zu traces below v1/; their rows are "
			 "in merged/v1/",
			 d->options->compact, d->merged.n);
	return r;
}

/* ---- the day ---- */

int ship_compact(const struct ship_options *o, const volatile sig_atomic_t *stop,
		 struct err_text *e)
{
	struct compact_day d = {.options = o, .stop = stop, .store = {.root = -1}};
	int r = compact_store_open(o, stop, &d.store, e);

	if (r < 0)
		return r;
	r = read_merged(&d, e);
	while (r == 0 && (r = read_batch(&d, e)) == 0 && d.n_traces) {
		r = merge_batch(&d, e);
		if (r == 0)
			r = read_merged(&d, e);
		else if (r == -EBADMSG)
			r = 0;
	}
	if (r == 0 && o->removes)
		r = remove_merged(&d, e);
	if (r == 0 && d.bad.n)
		r = -EAGAIN;
	clear_batch(&d);
	compact_names_deinit(&d.merged);
	compact_names_deinit(&d.bad);
	free(d.files);
	free(d.traces);
	compact_store_close(&d.store);
	return r;
}
