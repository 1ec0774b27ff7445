/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/compact_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/parquet/parquet_file.h"
#include "analyze/parquet/parquet_reader.h"
#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/system/helper_process.h"
#include "base/system/landlock.h"
#include "base/text/str.h"

#define MACHINE_COLUMN "machine"
#define HOURS_MAX 6 /* that the process may take */
#define SIZE_CHECK_ROWS 4096 /* rows between two checks of the size of a part */

DEFINE_DESTRUCTOR(struct parquet_reader *, parquet_reader_close)

void compact_table_part(const char *name, unsigned part, char ret[static SPOOL_KEY_MAX])
{
	snprintf(ret, SPOOL_KEY_MAX, "%.480s-%u.tmp", name, part);
}

/* ---- the columns of all sources ---- */

struct compact_columns {
	struct parquet_column_def
		of[PARQUET_COLUMNS_MAX]; /* names are owned; the last one is the machine */
	size_t n;
};

static size_t find_column(const struct compact_columns *c, const char *name)
{
	size_t i = 0;

	while (i < c->n && strcmp(c->of[i].name, name) != 0)
		i++;
	return i;
}

/* Adds the columns of a source. A column that sources have with several kinds gets the widest,
 * because the kind of a column without values is arbitrary. Returns 0, -EBADMSG if there are too
 * many, or -ENOMEM. */
static int add_columns(struct compact_columns *c, const struct parquet_reader *r)
{
	size_t n;
	const struct parquet_column_def *defs = parquet_reader_columns(r, &n);

	for (size_t i = 0; i < n; i++) {
		size_t at = find_column(c, defs[i].name);

		if (!strcmp(defs[i].name, MACHINE_COLUMN))
			continue;
		if (at == c->n) {
			if (c->n + 1 == PARQUET_COLUMNS_MAX)
				return -EBADMSG;
			c->of[at].name = strdup(defs[i].name);
			if (!c->of[at].name)
				return -ENOMEM;
			c->of[c->n++].kind = defs[i].kind;
		}
		c->of[at].kind = MAX(c->of[at].kind, defs[i].kind);
	}
	return 0;
}

/* ---- rows ---- */

static uint64_t bits_of_real(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static double real_from_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Converts a value to the wider kind, as readers do that combine files by the names of columns. */
static void widen_cell(struct parquet_cell *cell, enum parquet_kind from, enum parquet_kind to,
		       char text[static 40])
{
	if (!cell->is_set || from == to)
		return;
	if (to == PARQUET_REAL) {
		cell->bits = bits_of_real((double)(int64_t)cell->bits);
		return;
	}
	if (from == PARQUET_INTEGER)
		snprintf(text, 40, "%" PRId64, (int64_t)cell->bits);
	else
		snprintf(text, 40, "%.17g", real_from_bits(cell->bits));
	cell->text = (struct span){text, strlen(text)};
}

static void put_cell(struct parquet_file *f, const struct parquet_cell *cell,
		     enum parquet_kind kind)
{
	if (!cell->is_set)
		parquet_put_null(f);
	else if (kind == PARQUET_TEXT)
		parquet_put_text(f, cell->text.p, cell->text.len);
	else if (kind == PARQUET_REAL)
		parquet_put_real(f, real_from_bits(cell->bits));
	else
		parquet_put_integer(f, (int64_t)cell->bits);
}

/* A hash of all values in their order, and the number of rows. */
struct compact_sum {
	uint64_t hash, rows;
};

static void add_cell_to_checksum(struct compact_sum *s, const struct parquet_cell *cell,
				 enum parquet_kind kind)
{
	uint64_t v = !cell->is_set	    ? UINT64_C(0x6e756c6c)
		     : kind == PARQUET_TEXT ? fnv1a(FNV1A_START, cell->text.p, cell->text.len)
					    : cell->bits;

	s->hash = (s->hash ^ v ^ cell->is_set) * UINT64_C(0x9e3779b97f4a7c15);
	s->hash ^= s->hash >> 29;
}

/* ---- the process ---- */

struct compact_merge {
	const struct compact_table_job *job;
	struct compact_table_result *result;
	struct compact_columns columns;
	struct compact_sum sum;
	uint64_t part_bytes; /* of the sources in this part */
	FILE *to; /* the part; NULL: none is open */
	struct parquet_file *file;
};

static int open_source(const struct compact_merge *m, size_t i, int *ret_fd,
		       struct parquet_reader **ret)
{
	int fd = openat(m->job->root, m->job->sources[i].path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : parquet_reader_open(fd, ret);

	if (r < 0) {
		closep(&fd);
		m->result->bad = i;
	}
	*ret_fd = fd;
	return r;
}

static int close_part(struct compact_merge *m)
{
	int r = parquet_close(m->file);

	m->file = NULL;
	if (fflush(m->to) != 0 && r == 0)
		r = -errno;
	if (r == 0 && fsync(fileno(m->to)) < 0)
		r = -errno;
	if (fclose(m->to) != 0 && r == 0)
		r = -errno;
	m->to = NULL;
	return r;
}

static int open_part(struct compact_merge *m)
{
	char path[SPOOL_KEY_MAX];
	int fd;

	compact_table_part(m->job->name, m->result->n_parts, path);
	fd = openat(m->job->root, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0640);
	m->to = fd < 0 ? NULL : fdopen(fd, "w");
	if (!m->to) {
		int r = -errno;

		closep(&fd);
		return r;
	}
	m->result->n_parts++;
	m->part_bytes = 0;
	m->file = parquet_open(m->to, m->columns.of, m->columns.n);
	if (!m->file)
		return -ENOMEM;
	parquet_add_metadata(m->file, "sonda.schema", "1");
	return 0;
}

/* Begins another part if this one would become too large by a source. */
static int begin_part_if_full(struct compact_merge *m, int fd)
{
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (m->part_bytes && m->part_bytes + (uint64_t)st.st_size > m->job->part_bytes)
		r = close_part(m) ?: open_part(m);
	m->part_bytes += (uint64_t)st.st_size;
	return r;
}

/* Appends the rows of source i to the part, and begins another part when it is full. Returns 0 or
 * -errno; sets m->result->bad if the source cannot be read. */
static int put_source(struct compact_merge *m, size_t i)
{
	const struct compact_source *source = &m->job->sources[i];
	const struct parquet_cell machine = {.is_set = true,
					     .text = {source->machine, strlen(source->machine)}};
	size_t n, from[PARQUET_COLUMNS_MAX];
	const struct parquet_column_def *defs;
	_cleanup_(parquet_reader_closep) struct parquet_reader *reader = NULL;
	_cleanup_(closep) int fd = -1;
	int r = open_source(m, i, &fd, &reader);

	if (r == 0)
		r = begin_part_if_full(m, fd);
	if (r < 0)
		return r;
	defs = parquet_reader_columns(reader, &n);
	for (size_t c = 0; c + 1 < m->columns.n; c++)
		for (from[c] = 0; from[c] < n && strcmp(defs[from[c]].name, m->columns.of[c].name);)
			from[c]++;
	while ((r = parquet_reader_next(reader)) > 0) {
		for (size_t c = 0; c + 1 < m->columns.n; c++) {
			enum parquet_kind kind = m->columns.of[c].kind;
			struct parquet_cell cell = {.is_set = false};
			char text[40];

			if (from[c] < n) {
				cell = parquet_reader_cell(reader, from[c]);
				widen_cell(&cell, defs[from[c]].kind, kind, text);
			}
			add_cell_to_checksum(&m->sum, &cell, kind);
			put_cell(m->file, &cell, kind);
		}
		add_cell_to_checksum(&m->sum, &machine, PARQUET_TEXT);
		put_cell(m->file, &machine, PARQUET_TEXT);
		parquet_end_row(m->file);
		if (++m->sum.rows % SIZE_CHECK_ROWS == 0 &&
		    (uint64_t)ftello(m->to) > m->job->part_bytes) {
			r = close_part(m) ?: open_part(m);
			if (r < 0)
				return r;
		}
	}
	if (r < 0)
		m->result->bad = i;
	return r;
}

/* Reads the merged files. Returns 0, -EIO if they do not have the rows of the sources, or another
 * -errno. */
static int check_parts(struct compact_merge *m)
{
	struct compact_sum sum = {0};
	int r = 0;

	for (unsigned part = 0; r == 0 && part < m->result->n_parts; part++) {
		_cleanup_(parquet_reader_closep) struct parquet_reader *reader = NULL;
		_cleanup_(closep) int fd = -1;
		char path[SPOOL_KEY_MAX];

		compact_table_part(m->job->name, part, path);
		fd = openat(m->job->root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		r = fd < 0 ? -errno : parquet_reader_open(fd, &reader);
		while (r == 0 && (r = parquet_reader_next(reader)) > 0) {
			for (size_t c = 0; c < m->columns.n; c++) {
				struct parquet_cell cell = parquet_reader_cell(reader, c);

				add_cell_to_checksum(&sum, &cell, m->columns.of[c].kind);
			}
			sum.rows++;
			r = 0;
		}
	}
	if (r == 0 && (sum.rows != m->sum.rows || sum.hash != m->sum.hash))
		r = -EIO;
	return r;
}

static int read_columns(struct compact_merge *m)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->job->n_sources; i++) {
		_cleanup_(parquet_reader_closep) struct parquet_reader *reader = NULL;
		_cleanup_(closep) int fd = -1;

		r = open_source(m, i, &fd, &reader);
		if (r == 0)
			r = add_columns(&m->columns, reader);
		if (r == -EBADMSG)
			m->result->bad = i;
	}
	m->columns.of[m->columns.n++] = (struct parquet_column_def){MACHINE_COLUMN, PARQUET_TEXT};
	return r;
}

static int merge_sources(struct compact_merge *m)
{
	int r = read_columns(m), closed;

	if (r < 0)
		return r;
	r = open_part(m);
	for (size_t i = 0; r == 0 && i < m->job->n_sources; i++)
		r = put_source(m, i);
	closed = m->to ? close_part(m) : 0;
	r = r ?: closed;
	if (r == 0) {
		r = check_parts(m);
		if (r == -EBADMSG)
			r = -EIO; /* not of a source */
	}
	m->result->rows = m->sum.rows;
	return r;
}

static void compact_table_process(int fd, void *ctx)
{
	static const char *const calls[] = {
		"open",	   "openat", "ftruncate",  "fsync", "lseek",
		"pread64", "fstat",  "newfstatat", NULL,
	};
	static const struct syscall_list list = {.allowed = calls};
	static const struct landlock_path here = {.path = ".", .makes_files = true};
	static struct compact_table_result result;
	static struct compact_merge merge;
	const struct compact_table_job *job = ctx;

	if (fchdir(job->root) < 0)
		_exit(1);
	(void)landlock_restrict_files(&here, 1);
	(void)helper_confine(NULL, 0, &list);
	result.bad = job->n_sources;
	merge.job = job;
	merge.result = &result;
	result.error = merge_sources(&merge);
	snprintf(result.problem, sizeof(result.problem), "%s",
		 result.error == -EIO
			 ? "the rows of the merged file differ from those of its sources"
		 : result.error ? strerror(-result.error)
				: "");
	(void)helper_send(fd, &result, sizeof(result), -1, 0);
	_exit(0);
}

/* ---- this process ---- */

/* Removes the parts, to free the disk now: the next process may come only tomorrow. */
static void remove_parts(const struct compact_table_job *job)
{
	char path[SPOOL_KEY_MAX];
	unsigned part = 0;

	do
		compact_table_part(job->name, part++, path);
	while (unlinkat(job->root, path, 0) == 0);
}

int compact_table_merge(const struct compact_table_job *job, struct compact_table_result *ret,
			struct err_text *e)
{
	struct compact_table_job copy = *job;
	struct helper_process p;
	int r = helper_process_start("sonda-compact", compact_table_process, &copy, job->root, &p);

	if (r < 0)
		return err_set(e, r, "cannot start the helper process sonda-compact: %s",
			       strerror(-r));
	r = helper_process_finish(&p, ret, sizeof(*ret), job->stop, HOURS_MAX * 3600);
	if (r < 0 || ret->error)
		remove_parts(job);
	if (r < 0 && r != -EINTR)
		return err_set(e, r, "the merge process was killed, or took longer than %d hours",
			       HOURS_MAX);
	ret->problem[sizeof(ret->problem) - 1] = '\0';
	str_make_plain(ret->problem, strlen(ret->problem), "");
	ret->error = MIN(ret->error, 0);
	ret->bad = MIN(ret->bad, job->n_sources);
	return r;
}
