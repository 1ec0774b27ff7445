/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapped file goes through these stages:
 *
 *	queued    by unwind_tables_request_file()
 *	current   its identity is requested from the file reader, then its rows, unless they are
 *	          there (tables_read_next_files)
 *	known     it has an element in the map, by which programs find its rows (write_file_element)
 */
#include "stacks/unwind/unwind_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "gen/fields.h"
#include "stacks/files/file_reader.h"
#include "stacks/unwind/row_pool.h"

#define RETRY_MS 20 /* if the file reader is busy */
#define REPEAT_NS (100 * NS_PER_MS) /* for this time a file is not requested again */
#define REFUSED_NS (10 * NS_PER_S) /* likewise, if there was no room for its rows */
#define SEEN_MAX 4096 /* mapped files that are remembered */

/* A file that processes map, as their mappings describe it: device, inode, its generation, and
 * path. It may be changed in place, and without a generation it may be another file later. Then
 * programs miss it (`lacks` of unwind_tables_request_file), and the file is requested again. */
struct seen_file {
	struct known_file *file; /* borrowed; NULL: it is not known yet, or cannot be read */
	uint64_t requested_ns; /* CLOCK_MONOTONIC: the last answer; 0: none */
	bool is_queued;
	bool is_missed; /* a program has missed it: its rows may push out others */
	uint32_t n_requests; /* requests since it entered the queue */
	int32_t pid; /* queued or current: a process that maps it */
	struct file_mapping m; /* there */
	TAILQ_ENTRY(seen_file) link; /* in the queue */
	UT_hash_handle hh;
	char key[]; /* struct seen_key, and the path with its NUL; the vDSO: "" */
};

struct seen_key {
	uint64_t inode;
	uint32_t major, minor, generation, unused;
};

/* A file as it was when the file reader identified it. */
struct known_file {
	struct unwind_file_key key;
	uint32_t number; /* that of the file reader */
	bool is_read; /* else its rows are to be requested (again) */
	bool is_cut; /* see struct eh_rows */
	uint64_t refused_ns; /* there was no room for its rows then; 0: there was */
	uint64_t base; /* of its rows */
	uint32_t n_segments;
	struct elf_segment segments[UNWIND_SEGMENTS_MAX];
	struct row_range *range; /* NULL: no rows */
	UT_hash_handle hh;
};

static struct {
	unsigned n_users;
	struct file_reader_user reader;
	struct unwind_maps maps;
	struct row_pool rows;
	struct event *retry; /* owned */
	struct known_file *files; /* owned; by key */
	struct seen_file *seen; /* owned; by key */
	TAILQ_HEAD(, seen_file) queue; /* borrowed from seen */
	uint32_t n_queued;
	struct unwind_tables_stats stats; /* only the counters */

	struct {
		struct seen_file *seen; /* borrowed; NULL: none is current */
		struct known_file *file; /* whose rows come; borrowed */
		uint32_t owner, n_rules, n_rows, n_read;
		struct unwind_rule *rules; /* owned */
		struct unwind_row *rows; /* owned */
	} current;
} tables;

static void tables_read_next_files(void);

/* ---- elements of the map ---- */

static void write_file_element(const struct known_file *f)
{
	struct unwind_file element = {0};

	if (f->range) {
		element.first_row = f->range->first;
		element.n_rows = f->range->n;
		element.used_ns = f->range->used_ns;
	}
	for (uint32_t i = 0; i < f->n_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		element.segments[i].offset = s->offset & ~4095ull; /* whole pages are mapped */
		element.segments[i].end = s->offset + s->size;
		element.segments[i].bias = s->address - s->offset - f->base;
	}
	if (unwind_maps_set_file(&tables.maps, &f->key, &element) < 0)
		tables.stats.n_files_left_out++;
}

/* Sets when stacks used the ranges. */
static void tables_read_last_uses(void *ctx)
{
	struct known_file *f, *next;

	HASH_ITER (hh, tables.files, f, next)
		if (f->range)
			f->range->used_ns = MAX(f->range->used_ns,
						unwind_maps_read_last_use(&tables.maps, &f->key));
}

static void tables_on_evicted(void *ctx, struct row_range *r)
{
	struct known_file *f, *next;

	HASH_ITER (hh, tables.files, f, next)
		if (f->range == r) {
			unwind_maps_remove_file(&tables.maps, &f->key);
			f->range = NULL;
			f->is_read = false;
		}
	unwind_maps_increment_changes(&tables.maps);
}

/* ---- seen files ---- */

static bool is_vdso(const struct seen_file *s)
{
	return s->m.inode == 0;
}

static const char *seen_file_path(const struct seen_file *s)
{
	return s->key + sizeof(struct seen_key);
}

/* Frees the files that are neither queued nor current. */
static void free_idle_seen_files(void)
{
	struct seen_file *s, *next;

	HASH_ITER (hh, tables.seen, s, next) {
		if (s->is_queued || s == tables.current.seen)
			continue;
		HASH_DEL(tables.seen, s);
		free(s);
	}
}

/* Returns the file, which it adds if it is new; NULL: there are too many, or no memory. */
static struct seen_file *seen_file_get(const struct file_mapping *m, const char *path)
{
	const struct seen_key head = {m->inode, m->major, m->minor, m->generation, 0};
	char key[sizeof(head) + FILE_PATH_MAX];
	size_t len = sizeof(head) + m->path_len + 1;
	struct seen_file *s;

	if (m->path_len >= FILE_PATH_MAX)
		return NULL;
	memcpy(key, &head, sizeof(head));
	memcpy(key + sizeof(head), path, m->path_len);
	key[len - 1] = '\0';
	HASH_FIND(hh, tables.seen, key, len, s);
	if (s)
		return s;
	if (HASH_COUNT(tables.seen) >= SEEN_MAX)
		free_idle_seen_files();
	s = HASH_COUNT(tables.seen) < SEEN_MAX ? calloc(1, sizeof(*s) + len) : NULL;
	if (!s)
		return NULL;
	memcpy(s->key, key, len);
	s->m = *m;
	HASH_ADD(hh, tables.seen, key[0], len, s);
	if (!s->hh.tbl)
		freep(&s);
	return s;
}

/* Returns whether the file is to be requested, which also depends on lacks. */
static bool is_request_due(const struct seen_file *s, bool lacks)
{
	bool is_refused = s->file && s->file->refused_ns;

	if (s == tables.current.seen)
		return false;
	if (!s->requested_ns || (lacks && !tables.rows.keep_ns))
		return true;
	return lacks && clock_mono_ns() > s->requested_ns + (is_refused ? REFUSED_NS : REPEAT_NS);
}

static uint64_t count_code_pages(const struct file_mapping *m)
{
	return (m->end - m->start) >> 12;
}

/* Counts a request for a queued file, which moves it forward. Keeps the smaller of the two
 * mappings. */
static void seen_file_move_forward(struct seen_file *s, int32_t pid, const struct file_mapping *m)
{
	s->n_requests++;
	if (count_code_pages(m) >= count_code_pages(&s->m))
		return;
	s->pid = pid;
	s->m = *m;
}

static void seen_file_enqueue(struct seen_file *s, int32_t pid, const struct file_mapping *m)
{
	s->pid = pid;
	s->m = *m;
	s->is_queued = true;
	s->n_requests = 1;
	tables.n_queued++;
	TAILQ_INSERT_TAIL(&tables.queue, s, link);
	if (!tables.current.seen)
		tables_read_next_files();
}

void unwind_tables_request_file(int32_t pid, const struct file_mapping *m, const char *path,
				bool lacks)
{
	struct seen_file *s;

	if (!tables.n_users || !file_reader_is_alive() || !m->inode)
		return;
	s = seen_file_get(m, path);
	if (s)
		s->is_missed |= lacks;
	if (!s || (!s->is_queued && tables.n_queued >= UNWIND_QUEUE_MAX))
		tables.stats.n_files_left_out++;
	else if (s->is_queued)
		seen_file_move_forward(s, pid, m);
	else if (is_request_due(s, lacks))
		seen_file_enqueue(s, pid, m);
}

/* ---- the current file ---- */

static void reset_current(void)
{
	freep(&tables.current.rules);
	freep(&tables.current.rows);
	tables.current.n_rows = 0;
	tables.current.file = NULL;
	tables.current.seen = NULL;
}

static struct known_file *find_or_add_file(const struct unwind_file_key *key)
{
	struct known_file *f;

	HASH_FIND(hh, tables.files, key, sizeof(*key), f);
	if (f)
		return f;
	f = HASH_COUNT(tables.files) < UNWIND_FILES_MAX ? calloc(1, sizeof(*f)) : NULL;
	if (!f)
		return NULL;
	f->key = *key;
	HASH_ADD(hh, tables.files, key, sizeof(*key), f);
	if (!f->hh.tbl)
		freep(&f);
	return f;
}

/* Requests the rows of the current file, unless it has them; then no file is current. Returns false
 * if an answer must arrive first. */
static bool request_rows_if_missing(struct known_file *f)
{
	const struct seen_file *s = tables.current.seen;

	if (f->is_read && !f->refused_ns) {
		reset_current();
		return true;
	}
	tables.current.file = f;
	if (!file_reader_request_rows(&tables.reader, 0, f->number, s->pid,
				      is_vdso(s) ? NULL : &s->m,
				      is_vdso(s) ? NULL : seen_file_path(s)))
		event_timer_ms(tables.retry, RETRY_MS);
	return false;
}

/* Requests the identity of the current file, or, of the vDSO, its rows. Returns false if an answer
 * must arrive first. */
static bool request_identity(struct seen_file *s)
{
	static const struct unwind_file_key vdso_key;
	struct known_file *f;

	if (!is_vdso(s)) {
		if (!file_reader_request_elf(&tables.reader, 0, s->pid, &s->m, seen_file_path(s)))
			event_timer_ms(tables.retry, RETRY_MS);
		return false;
	}
	f = find_or_add_file(&vdso_key);
	if (!f) {
		reset_current();
		return true;
	}
	f->number = FILE_VDSO;
	f->n_segments = 1;
	f->segments[0] = (struct elf_segment){.size = UINT32_MAX};
	return request_rows_if_missing(f);
}

/* Returns true if a is read before b. Files that stacks have missed come first. Then the least code
 * per request: usually the C library, and last a large program, which takes as long as many small
 * ones. */
static bool is_read_before(const struct seen_file *a, const struct seen_file *b)
{
	if (a->is_missed != b->is_missed)
		return a->is_missed;
	return count_code_pages(&a->m) * b->n_requests < count_code_pages(&b->m) * a->n_requests;
}

/* Removes and returns the queued file that is to be read next. */
static struct seen_file *dequeue_file(void)
{
	struct seen_file *s, *least = NULL;

	TAILQ_FOREACH (s, &tables.queue, link)
		if (!least || is_read_before(s, least))
			least = s;
	if (!least)
		return NULL;
	TAILQ_REMOVE(&tables.queue, least, link);
	tables.n_queued--;
	least->is_queued = false;
	return least;
}

/* Processes queued files until an answer is needed or the queue is empty. */
static void tables_read_next_files(void)
{
	struct seen_file *s;

	while (!tables.current.seen && (s = dequeue_file())) {
		tables.current.seen = s;
		if (!request_identity(s))
			return;
	}
}

/* ---- answers ---- */

static void store_elf_facts(struct known_file *f, uint32_t number, const struct elf_facts *facts)
{
	f->number = number;
	f->n_segments = MIN(facts->n_segments, (uint32_t)UNWIND_SEGMENTS_MAX);
	memcpy(f->segments, facts->segments, f->n_segments * sizeof(f->segments[0]));
}

static void handle_elf_answer(const struct file_answer *a)
{
	struct seen_file *s = tables.current.seen;
	struct unwind_file_key key = {.inode = s->m.inode, .device = s->m.major << 20 | s->m.minor};

	s->requested_ns = clock_mono_ns();
	s->file = NULL;
	if (a->result == 0) {
		key.size = a->elf.size;
		key.changed_s = (uint64_t)a->elf.changed_s;
		key.changed_ns = a->elf.changed_ns;
		s->file = find_or_add_file(&key);
	} else {
		tables.stats.n_unreadable++;
	}
	if (!s->file)
		reset_current();
	else if (!s->file->is_read || s->file->refused_ns)
		store_elf_facts(s->file, a->file, &a->elf);
	if (!s->file || request_rows_if_missing(s->file))
		tables_read_next_files();
}

/* Handles the first answer to a request for rows. Returns false if no rows come. */
static bool begin_rows(const struct file_answer *a)
{
	if (a->result < 0)
		return false;
	if (a->rules.head.is_cut && !tables.current.file->is_cut) {
		tables.current.file->is_cut = true;
		tables.stats.n_cut++;
	}
	if (!a->rules.head.n_rows)
		return false;
	tables.current.file->base = a->rules.head.base;
	tables.current.owner = a->rules.head.owner;
	tables.current.n_rules = a->n;
	tables.current.n_rows = a->rules.head.n_rows;
	tables.current.n_read = 0;
	tables.current.rules = calloc(a->n + 1, sizeof(*tables.current.rules));
	tables.current.rows = calloc(a->rules.head.n_rows, sizeof(*tables.current.rows));
	if (tables.current.rules && a->n)
		memcpy(tables.current.rules, a->rules.rules, a->n * sizeof(a->rules.rules[0]));
	return true;
}

/* Stores the rows of the file, which have all come. If they have no room, programs continue to miss
 * the file. A file that is only mapped takes no room from others: it is read again once a program
 * has missed it. */
static void end_rows(struct known_file *f)
{
	tables.rows.evicts = tables.current.seen->is_missed;
	if (tables.current.rules && tables.current.rows)
		f->range = row_pool_add(&tables.rows, tables.current.owner, tables.current.rules,
					tables.current.n_rules, tables.current.rows,
					tables.current.n_rows);
	f->is_read = f->range || tables.rows.evicts;
	f->refused_ns = f->range || !f->is_read ? 0 : clock_mono_ns();
	if (f->range)
		write_file_element(f);
}

static void handle_rows_answer(const struct file_answer *a)
{
	struct known_file *f = tables.current.file;

	if (!tables.current.n_rows && begin_rows(a))
		return;
	if (tables.current.n_rows) {
		if (tables.current.rows)
			memcpy(tables.current.rows + tables.current.n_read, a->rows,
			       a->n * sizeof(*a->rows));
		tables.current.n_read += a->n;
		if (a->has_more)
			return;
		end_rows(f);
	} else {
		tables.stats.n_unreadable++;
		f->is_read = a->result != -ESTALE; /* else the file was changed since */
		if (f->is_read)
			write_file_element(f);
	}
	reset_current();
	tables_read_next_files();
}

void unwind_tables_clear_queue(void)
{
	struct seen_file *s;

	while ((s = TAILQ_FIRST(&tables.queue))) {
		TAILQ_REMOVE(&tables.queue, s, link);
		s->is_queued = false;
	}
	tables.n_queued = 0;
}

static void tables_on_answer(void *ctx, const struct file_answer *a)
{
	if (a->kind ==
	    FILE_REQUEST_CLOSE_ALL) { /* the reader has ended: nothing is read any more */
		reset_current();
		unwind_tables_clear_queue();
	} else if (!tables.current.seen) {
		return;
	} else if (a->kind == FILE_REQUEST_ELF) {
		handle_elf_answer(a);
	} else if (a->kind == FILE_REQUEST_ROWS) {
		handle_rows_answer(a);
	}
}

static void tables_on_retry(evutil_socket_t fd, short what, void *ctx)
{
	if (!tables.current.seen)
		return;
	if (tables.current.file ? request_rows_if_missing(tables.current.file)
				: request_identity(tables.current.seen))
		tables_read_next_files();
}

/* ---- users ---- */

static void tables_deinit(void)
{
	file_reader_leave(&tables.reader);
	reset_current();
	unwind_tables_clear_queue();
	free_idle_seen_files();
	HASH_FREE(tables.files);
	event_freep(&tables.retry);
	row_pool_deinit(&tables.rows);
	unwind_maps_destroy(&tables.maps);
}

static int tables_init(struct event_base *loop, bool hurries)
{
	static const struct file_mapping vdso;
	struct seen_file *s;
	int r = unwind_maps_create(&tables.maps);

	if (r < 0)
		return r;
	TAILQ_INIT(&tables.queue);
	tables.stats = (struct unwind_tables_stats){0};
	tables.rows = (struct row_pool){.refresh = tables_read_last_uses,
					.evicted = tables_on_evicted,
					.keep_ns = hurries ? 0 : ROW_POOL_KEEP_NS};
	tables.reader = (struct file_reader_user){.answered = tables_on_answer};
	tables.retry = evtimer_new(loop, tables_on_retry, NULL);
	r = row_pool_init(&tables.rows, &tables.maps);
	if (r == 0)
		r = tables.retry ? file_reader_join(&tables.reader, loop) : -ENOMEM;
	if (r < 0) {
		tables_deinit();
		return r;
	}
	s = seen_file_get(&vdso, "");
	if (s)
		seen_file_enqueue(s, 0, &vdso);
	return 0;
}

int unwind_tables_join(struct unwind_tables_user *u, struct event_base *loop)
{
	int r = tables.n_users || u->is_joined ? 0 : tables_init(loop, u->hurries);

	if (r == 0 && !u->is_joined) {
		u->is_joined = true;
		tables.n_users++;
	}
	return r;
}

void unwind_tables_leave(struct unwind_tables_user *u)
{
	if (!u->is_joined)
		return;
	u->is_joined = false;
	if (--tables.n_users == 0)
		tables_deinit();
}

const struct unwind_maps *unwind_tables_maps(void)
{
	return &tables.maps;
}

bool unwind_tables_is_busy(void)
{
	return tables.current.seen != NULL;
}

bool unwind_tables_are_almost_full(void)
{
	return tables.rows.n_rows > UNWIND_ROWS_MAX / 4 * 3 ||
	       rule_pool_size(&tables.rows.rules) > UNWIND_RULES_MAX / 4 * 3;
}

void unwind_tables_get_stats(struct unwind_tables_stats *ret)
{
	const struct row_range *r;

	*ret = tables.stats;
	if (!tables.n_users)
		return;
	ret->n_files = HASH_COUNT(tables.files);
	TAILQ_FOREACH (r, &tables.rows.by_place, place)
		ret->n_ranges++;
	ret->n_rows = tables.rows.n_rows;
	ret->n_rules = rule_pool_size(&tables.rows.rules);
	ret->n_evicted = tables.rows.n_evicted;
	ret->n_refused = tables.rows.n_refused;
}

void unwind_tables_write_stats(const struct unwind_tables_stats *stats, struct pb_enc *e)
{
	const struct {
		uint32_t field;
		uint64_t value;
	} values[] = {
		{PB_UNWIND_STATS_FILES, stats->n_files},
		{PB_UNWIND_STATS_ROWS, stats->n_rows},
		{PB_UNWIND_STATS_RULES, stats->n_rules},
		{PB_UNWIND_STATS_EVICTED, stats->n_evicted},
		{PB_UNWIND_STATS_REFUSED, stats->n_refused},
		{PB_UNWIND_STATS_UNREADABLE, stats->n_unreadable},
		{PB_UNWIND_STATS_FILES_LEFT_OUT, stats->n_files_left_out},
		{PB_UNWIND_STATS_FILES_CUT, stats->n_cut},
	};

	pb_enc_open(e, PB_TRACE_PACKET_UNWIND_STATS);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (values[i].value)
			pb_enc_u64(e, values[i].field, values[i].value);
	pb_enc_close(e);
}
