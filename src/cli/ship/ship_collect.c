/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/ship_collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/ship/entry_files.h"
#include "cli/ship/spool.h"
#include "cli/ship/spool_tables.h"
#include "cli/trace/ship_status.h"
#include "cli/trace/trace_file.h"

#define NEW "new" /* of in/: the entry that is being made */
#define SNAPSHOT_JSON_MAX (64u << 10)

/* A source file that is in the spool, or was. After a restart, the hash of the file shows this. */
struct seen_file {
	struct seen_key {
		uint64_t dev, ino, bytes;
		int64_t written_ns, changed_ns;
	} key;
	UT_hash_handle hh;
};

struct ship_collector {
	const struct ship_options *options; /* borrowed */
	const volatile sig_atomic_t *stop; /* borrowed */
	struct spool spool;
	struct seen_file *seen; /* owned */
	struct ship_status status; /* as of the last pass */
	struct log_limit full, failures;
};

int ship_collector_open(const struct ship_options *options, const volatile sig_atomic_t *stop,
			struct ship_collector **ret, struct err_text *e)
{
	struct ship_collector *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	*c = (struct ship_collector){.options = options, .stop = stop, .spool = SPOOL_CLOSED};
	r = spool_open(options->spool, SPOOL_COLLECTOR, &c->spool, e);
	if (r < 0) {
		ship_collector_close(c);
		return r;
	}
	spool_remove_unfinished(&c->spool);
	/* Counters continue. */
	if (options->status)
		(void)ship_status_read(options->status, SHIP_STATUS_COLLECTOR, &c->status);
	*ret = c;
	return 0;
}

void ship_collector_close(struct ship_collector *c)
{
	if (!c)
		return;
	spool_close(&c->spool);
	HASH_FREE(c->seen);
	free(c);
}

/* ---- room ---- */

/* Removes entries that the bucket has, and moves those that the uploader has found to be bad. */
static void ship_clear_done(const struct ship_collector *c)
{
	const struct spool *s = &c->spool;
	struct spool_entries entries = {.of = NULL};

	(void)spool_entries_read(s, &entries);
	for (size_t i = 0; i < entries.n; i++) {
		const char *uuid = entries.of[i].uuid;

		if (spool_has_name(s->done, uuid))
			(void)spool_entry_remove(s, uuid);
		else if (spool_has_name(s->upload_bad, uuid) &&
			 renameat(s->ready, uuid, s->bad, uuid) < 0)
			(void)spool_entry_remove(s, uuid);
	}
	free(entries.of);
}

/* Drops an entry, unless its upload has begun. Returns true, and logs it, if it was dropped. */
static bool ship_drop_entry(struct ship_collector *c, const char *uuid)
{
	const struct spool *s = &c->spool;
	int fd = openat(s->ready, uuid, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool dropped = false;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && !spool_has_name(s->journal, uuid) &&
	    spool_mark(s->dropped, uuid) == 0)
		dropped = spool_entry_remove(s, uuid) == 0;
	closep(&fd);
	c->status.dropped += dropped;
	if (dropped)
		log_warn("the spool is full: dropped trace %s, which was not uploaded yet", uuid);
	return dropped;
}

/* Returns true if an entry of `need` bytes fits: the spool has at most max_bytes then, and the file
 * system is not nearly full. written: the file system holds these bytes already. drops: drops the
 * oldest entries until it fits. */
static bool ship_make_room(struct ship_collector *c, uint64_t need, bool written, bool drops)
{
	struct spool_entries entries = {.of = NULL};
	uint64_t used = 0;
	struct statvfs fs;
	size_t next = 0;
	bool enough;

	(void)spool_entries_read(&c->spool, &entries);
	for (size_t i = 0; i < entries.n; i++)
		used += spool_entry_bytes(&c->spool, entries.of[i].uuid);
	for (;;) {
		uint64_t room = fstatvfs(c->spool.root, &fs) < 0 ? 0 : trace_file_room_of(&fs);

		enough =
			(written ? room > 0 : room >= need) && used + need <= c->options->max_bytes;
		if (enough || !drops || next == entries.n || need > c->options->max_bytes)
			break;
		used -= MIN(used, spool_entry_bytes(&c->spool, entries.of[next].uuid));
		if (!ship_drop_entry(c, entries.of[next].uuid))
			used += spool_entry_bytes(&c->spool, entries.of[next].uuid);
		next++;
	}
	free(entries.of);
	if (!enough && drops)
		log_write_limited(&c->full, LOG_LEVEL_WARN,
				  "the spool has no room for %" PRIu64
				  " bytes; the trace stays in its directory and will be retried",
				  need);
	return enough;
}

/* ---- an entry ---- */

/* A file of a source directory. */
struct ship_source {
	int dir;
	const char *name; /* borrowed */
	struct stat st;
};

enum ship_outcome {
	SHIP_TAKEN, /* it is in the spool, or was */
	SHIP_LATER, /* it is tried again in the next pass */
};

/* Adds the tables that the process has written. That process is not trusted: only the expected
 * names count. Returns 0 or -errno. */
static int ship_add_tables(const struct ship_collector *c, int directory, struct entry_files *files)
{
	for (size_t i = 0; i < c->options->n_tables; i++) {
		const char *table = c->options->tables[i];
		_cleanup_(closep) int fd = -1;
		struct file_hash h = {0};
		char name[SPOOL_NAME_MAX];
		struct stat st;
		int r;

		snprintf(name, sizeof(name), "%.64s.parquet", table);
		fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		r = file_hash_read(fd, -1, c->stop, &h);
		if (r == 0 && (fchmod(fd, 0640) < 0 || fsync(fd) < 0))
			r = -errno;
		if (r == 0)
			entry_files_add(files, table, &h);
		file_hash_deinit(&h);
		if (r < 0)
			return r;
	}
	return 0;
}

static void remove_tables(const struct ship_collector *c, int directory)
{
	char name[SPOOL_NAME_MAX];

	for (size_t i = 0; i < c->options->n_tables; i++) {
		snprintf(name, sizeof(name), "%.64s.parquet", c->options->tables[i]);
		(void)unlinkat(directory, name, 0);
	}
}

/* Returns the recorder's text about a snapshot (NAME.json), owned by the caller; NULL or "" if
 * there is none. */
static char *read_snapshot_json(const struct ship_source *source)
{
	char name[NAME_MAX + 8];
	struct strbuf text = {0};
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%.255s.json", source->name);
	fd = openat(source->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fs_read_fd(fd, SNAPSHOT_JSON_MAX, &text) < 0)
		strbuf_clear(&text);
	closep(&fd);
	return strbuf_take(&text);
}

static int ship_write_entry(const struct ship_collector *c, const struct ship_source *source,
			    int directory, const struct spool_facts *facts,
			    const struct file_hash *trace, struct entry_files *files)
{
	_cleanup_(freep) char *snapshot = read_snapshot_json(source);
	struct manifest_facts m = {
		.trace = facts,
		.source = source->name,
		.snapshot = snapshot,
		.dropped = spool_marks_count(c->spool.dropped),
	};
	time_t start;
	struct tm tm;
	int r;

	m.start_realtime_ns = facts->has_start && facts->start_realtime_ns > 0
				      ? (uint64_t)facts->start_realtime_ns
				      : (uint64_t)source->st.st_mtim.tv_sec * NS_PER_S;
	start = (time_t)(m.start_realtime_ns / NS_PER_S);
	strftime(files->date, sizeof(files->date), "%Y-%m-%d", gmtime_r(&start, &tm));
	r = ship_add_tables(c, directory, files);
	if (r < 0)
		return r;
	entry_files_add(files, NULL, trace);
	r = entry_files_write(files, &m, directory);
	return r ?: fsync(directory) < 0 ? -errno : 0;
}

static int ship_publish(struct ship_collector *c, int directory, const char *uuid)
{
	const struct spool *s = &c->spool;
	uint64_t bytes = 0;
	struct stat st;
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *d;

	if (!dir) {
		closep(&fd);
		return -EIO;
	}
	while ((d = readdir(dir)))
		if (fstatat(directory, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	closedir(dir);
	if (!ship_make_room(c, bytes, true, true))
		return -ENOSPC;
	if (renameat(s->in, NEW, s->ready, uuid) < 0 || fsync(s->ready) < 0)
		return -errno;
	return 0;
}

/* Makes the entry of a trace that was copied into the directory, and moves it to ready/. Returns 0,
 * or -errno; sets e only if the process that makes the tables could not be started. */
static int ship_make_entry(struct ship_collector *c, const struct ship_source *source,
			   int directory, const struct file_hash *trace, const char *uuid,
			   struct err_text *e)
{
	const struct spool_tables_job job = {
		.dir = directory,
		.tables = c->options->tables,
		.n_tables = c->options->n_tables,
		.uuid = uuid,
		.memory = c->options->memory,
		.stop = c->stop,
	};
	struct entry_files files = {.list = {0}};
	struct spool_facts facts;
	int r = spool_tables_make(&job, &facts, e);

	if (r < 0 || facts.error == -ENOSPC)
		return r < 0 ? r : -ENOSPC;
	if (facts.error) {
		log_warn("%s is uploaded without tables: %s", source->name, facts.problem);
		remove_tables(c, directory);
	}
	snprintf(files.uuid, sizeof(files.uuid), "%s", uuid);
	snprintf(files.machine, sizeof(files.machine), "%s", c->options->machine);
	r = ship_write_entry(c, source, directory, &facts, trace, &files);
	if (r == 0)
		r = ship_publish(c, directory, uuid);
	entry_files_deinit(&files);
	return r;
}

static bool is_trace_in_spool(const struct spool *s, const char *uuid)
{
	return spool_has_name(s->ready, uuid) || spool_has_name(s->done, uuid) ||
	       spool_has_name(s->dropped, uuid) || spool_has_name(s->bad, uuid) ||
	       spool_has_name(s->upload_bad, uuid);
}

/* Copies the trace into the directory. Returns 0, -EAGAIN if it is still being written, or
 * -errno. */
static int ship_copy_trace(const struct ship_collector *c, const struct ship_source *source,
			   int directory, struct file_hash *ret)
{
	_cleanup_(closep) int from =
		openat(source->dir, source->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_(closep) int to =
		openat(directory, "trace.pftrace", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	struct stat after;
	int r;

	if (from < 0 || to < 0)
		return -errno;
	r = file_hash_read(from, to, c->stop, ret);
	if (r < 0)
		return r;
	if (fstat(from, &after) < 0 || fsync(to) < 0)
		r = -errno;
	else if (after.st_ino != source->st.st_ino || after.st_dev != source->st.st_dev ||
		 after.st_size != source->st.st_size || (uint64_t)after.st_size != ret->bytes ||
		 after.st_mtim.tv_sec != source->st.st_mtim.tv_sec ||
		 after.st_mtim.tv_nsec != source->st.st_mtim.tv_nsec)
		r = -EAGAIN;
	if (r < 0)
		file_hash_deinit(ret);
	return r;
}

static bool ship_knows_source(const struct ship_collector *c, const struct ship_source *source)
{
	_cleanup_(closep) int fd =
		openat(source->dir, source->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct file_hash h = {0};
	char uuid[SPOOL_UUID_SIZE];

	if (fd < 0 || file_hash_read(fd, -1, c->stop, &h) < 0)
		return false;
	spool_make_uuid(h.whole, uuid);
	file_hash_deinit(&h);
	return is_trace_in_spool(&c->spool, uuid);
}

static enum ship_outcome ship_collect_source(struct ship_collector *c,
					     const struct ship_source *source)
{
	const struct spool *s = &c->spool;
	_cleanup_(closep) int directory = -1;
	struct file_hash trace = {0};
	struct err_text e = {""};
	char uuid[SPOOL_UUID_SIZE];
	uint64_t bytes = (uint64_t)source->st.st_size, need = bytes + bytes / 2;
	bool known = false;
	int r;

	/* Nothing is dropped for a trace that was in the spool already. */
	if (!ship_make_room(c, need, false, false)) {
		if (ship_knows_source(c, source))
			return SHIP_TAKEN;
		if (!ship_make_room(c, need, false, true))
			return SHIP_LATER;
	}
	(void)spool_remove_dir(s->in, NEW);
	if (mkdirat(s->in, NEW, 0750) == 0)
		directory = openat(s->in, NEW, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = directory < 0 ? -errno : ship_copy_trace(c, source, directory, &trace);
	if (r == 0) {
		spool_make_uuid(trace.whole, uuid);
		known = is_trace_in_spool(s, uuid);
		if (!known)
			r = ship_make_entry(c, source, directory, &trace, uuid, &e);
		file_hash_deinit(&trace);
	}
	if (r < 0 || known)
		(void)spool_remove_dir(s->in, NEW);
	if (r < 0 && r != -EAGAIN && r != -EINTR)
		log_write_limited(&c->failures, LOG_LEVEL_WARN,
				  "cannot add %s to the spool: %s; will retry", source->name,
				  e.text[0] ? e.text : strerror(-r));
	if (r == 0 && !known)
		log_info("added %s to the spool as %s", source->name, uuid);
	return r < 0 ? SHIP_LATER : SHIP_TAKEN;
}

/* ---- source directories ---- */

struct source_file {
	char name[NAME_MAX + 1];
	struct stat st;
};

struct source_list {
	struct source_file *of; /* owned */
	size_t n, cap;
};

static int source_file_compare(const void *a, const void *b)
{
	const struct source_file *x = a, *y = b;

	if (x->st.st_mtim.tv_sec != y->st.st_mtim.tv_sec)
		return x->st.st_mtim.tv_sec < y->st.st_mtim.tv_sec ? -1 : 1;
	if (x->st.st_mtim.tv_nsec != y->st.st_mtim.tv_nsec)
		return x->st.st_mtim.tv_nsec < y->st.st_mtim.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int64_t timespec_to_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * (int64_t)NS_PER_S + t->tv_nsec;
}

static struct seen_key make_seen_key(const struct stat *st)
{
	return (struct seen_key){
		.dev = (uint64_t)st->st_dev,
		.ino = (uint64_t)st->st_ino,
		.bytes = (uint64_t)st->st_size,
		.written_ns = timespec_to_ns(&st->st_mtim),
		.changed_ns = timespec_to_ns(&st->st_ctim),
	};
}

static bool is_file_seen(const struct ship_collector *c, const struct stat *st)
{
	struct seen_key key = make_seen_key(st);
	struct seen_file *found;

	HASH_FIND(hh, c->seen, &key, sizeof(key), found);
	return found != NULL;
}

static void add_seen_file(struct ship_collector *c, const struct stat *st)
{
	struct seen_file *f = calloc(1, sizeof(*f));

	if (!f)
		return;
	f->key = make_seen_key(st);
	HASH_ADD(hh, c->seen, key, sizeof(f->key), f);
	if (!f->hh.tbl)
		free(f);
}

/* Returns true for the name of a complete trace: hidden files are not complete. */
static bool is_trace_name(const char *name)
{
	return name[0] != '.' && (str_ends(name, ".pftrace") || str_ends(name, ".perfetto-trace"));
}

/* Lists the traces that are complete and not in the spool. */
static void list_sources(const struct ship_collector *c, DIR *dir, struct source_list *ret)
{
	int64_t newest = (int64_t)clock_ns(CLOCK_REALTIME) -
			 (int64_t)c->options->settle_ms * (int64_t)NS_PER_MS;
	const struct dirent *d;

	while ((d = readdir(dir))) {
		struct source_file f;

		if (!is_trace_name(d->d_name) ||
		    fstatat(dirfd(dir), d->d_name, &f.st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(f.st.st_mode) || !f.st.st_size ||
		    timespec_to_ns(&f.st.st_mtim) > newest || is_file_seen(c, &f.st) ||
		    array_reserve(&ret->of, &ret->cap, ret->n + 1, sizeof(*ret->of)) < 0)
			continue;
		snprintf(f.name, sizeof(f.name), "%s", d->d_name);
		ret->of[ret->n++] = f;
	}
	if (ret->n)
		qsort(ret->of, ret->n, sizeof(*ret->of), source_file_compare);
}

static unsigned ship_collect_dir(struct ship_collector *c, const char *path)
{
	struct source_list list = {.of = NULL};
	DIR *dir = opendir(path);
	unsigned later = 0;

	if (!dir) {
		log_write_limited(&c->failures, LOG_LEVEL_WARN, "cannot read the directory %s: %s",
				  path, strerror(errno));
		return 1;
	}
	list_sources(c, dir, &list);
	for (size_t i = 0; i < list.n && !*c->stop; i++) {
		const struct ship_source source = {dirfd(dir), list.of[i].name, list.of[i].st};

		if (ship_collect_source(c, &source) == SHIP_TAKEN)
			add_seen_file(c, &list.of[i].st);
		else
			later++;
	}
	free(list.of);
	closedir(dir);
	return later;
}

static void ship_collector_write_status(struct ship_collector *c)
{
	struct spool_entries entries = {.of = NULL};
	int r;

	if (!c->options->status)
		return;
	(void)spool_entries_read(&c->spool, &entries);
	c->status.spool_bytes = 0;
	for (size_t i = 0; i < entries.n; i++)
		c->status.spool_bytes += spool_entry_bytes(&c->spool, entries.of[i].uuid);
	c->status.oldest_s = entries.n ? (uint64_t)entries.of[0].made.tv_sec : 0;
	free(entries.of);
	r = ship_status_write(c->options->status, SHIP_STATUS_COLLECTOR, &c->status);
	if (r < 0)
		log_write_limited(&c->failures, LOG_LEVEL_WARN, "cannot write into %s: %s",
				  c->options->status, strerror(-r));
}

unsigned ship_collector_pass(struct ship_collector *c)
{
	unsigned later = 0;

	ship_clear_done(c);
	spool_marks_prune(c->spool.dropped);
	for (size_t i = 0; i < c->options->n_from && !*c->stop; i++)
		later += ship_collect_dir(c, c->options->from[i]);
	ship_collector_write_status(c);
	return later;
}
