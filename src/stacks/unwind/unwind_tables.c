/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process goes through these stages:
 *
 *	wanted    unwind_tables_set_process() has copied its mappings; it waits in a queue
 *	current   the file reader is asked about one mapping after the other: first which file that
 *	          is, then for the rows, unless they are there (tables_continue)
 *	known     it has an element in the map (tables_publish)
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
#define IDENTIFIED_NS (100 * NS_PER_MS) /* so long a file is not asked for again */
#define IDENTIFIED_MAX 4096 /* files */
#define IDENTIFIED_KEY_MAX (FILE_PATH_MAX + 24)
#define REFUSED_NS (10 * NS_PER_S) /* until rows without room are read again */

struct wanted_mapping {
	struct file_mapping m; /* inode 0: of no file */
	bool is_vdso;
	char *path; /* owned; NULL: of no file */
};

struct wanted_process {
	int32_t pid;
	bool is_cancelled; /* it is current, and has ended */
	uint32_t n;
	size_t n_bytes; /* of all that is kept for it */
	struct wanted_mapping *mappings; /* owned */
	TAILQ_ENTRY(wanted_process) link;
};

struct known_mapping {
	uint64_t start, end, bias;
	struct row_range *range; /* NULL: no rows */
};

struct known_process {
	int32_t pid; /* key */
	uint32_t n;
	bool lacks_rows; /* some have made room for others, or may come */
	struct known_mapping *mappings; /* owned */
	TAILQ_ENTRY(known_process) use;
	UT_hash_handle hh;
};

struct known_file {
	uint32_t number; /* key: that of the file reader */
	bool is_read; /* else its rows are to be requested (again) */
	uint64_t base; /* of its rows */
	uint64_t refused_ns; /* there was no room for its rows then; 0: there was */
	struct row_range *range; /* NULL: no rows */
	UT_hash_handle hh;
};

/*
 * A mapped file that the file reader has identified. Programs that start at a high rate map the same
 * files: for IDENTIFIED_NS these are not asked for again. It is shorter than the time in which a
 * file can be removed, made again with the same inode, and run. Until it is asked again, its rows
 * serve if the generation of the inode is known (tables_publish_early).
 */
struct identified_file {
	uint64_t until_ns; /* CLOCK_MONOTONIC */
	uint32_t number; /* that of the file reader */
	struct elf_facts facts;
	UT_hash_handle hh;
	char key[]; /* device, inode, generation, path: devices of some file systems share inodes */
};

static struct {
	unsigned n_users;
	struct file_reader_user reader;
	struct unwind_maps maps;
	struct row_pool rows;
	struct event *retry; /* owned */
	struct known_file *files; /* owned; by number */
	struct identified_file *identified; /* owned; by key */
	struct known_process *processes; /* owned; by pid */
	TAILQ_HEAD(, known_process) by_use; /* the least recently set or used first */
	TAILQ_HEAD(, wanted_process) wanted; /* owned */
	uint32_t n_wanted;
	size_t n_wanted_bytes;
	uint32_t generation; /* of the last element */
	struct unwind_tables_stats stats; /* only the counters */

	struct {
		struct wanted_process *wanted; /* owned; NULL: none is current */
		struct known_process *known; /* owned: so far */
		uint64_t load_bias; /* of the mapping that is being resolved */
		struct known_file *file; /* whose rows come; borrowed */
		uint32_t owner, n_rules, n_rows, n_read;
		uint64_t base;
		struct unwind_rule *rules; /* owned */
		struct unwind_row *rows; /* owned */
	} current;
} tables;

static void tables_continue(void);

/* ---- elements of the map ---- */

static void write_process(const struct known_process *p)
{
	static struct unwind_process element;

	element.n = p->n;
	element.generation = tables.generation += 2;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct known_mapping *m = &p->mappings[i];

		element.mappings[i] = (struct unwind_mapping){
			.start = m->start,
			.end = m->end,
			.bias = m->bias,
			.first_row = m->range ? m->range->first : 0,
			.n_rows = m->range ? m->range->n : 0,
		};
	}
	memset(&element.mappings[p->n], 0,
	       (UNWIND_MAPPINGS_MAX - p->n) * sizeof(element.mappings[0]));
	/* An old element must not stay: its rows may be replaced. */
	if (unwind_maps_set_process(&tables.maps, p->pid, &element) < 0)
		unwind_maps_remove_process(&tables.maps, p->pid);
}

static void known_process_free(struct known_process *p)
{
	for (uint32_t i = 0; p && i < p->n; i++)
		if (p->mappings[i].range)
			p->mappings[i].range->n_mappings--;
	if (p)
		free(p->mappings);
	free(p);
}

static struct known_process *find_process(int32_t pid)
{
	struct known_process *p;

	HASH_FIND(hh, tables.processes, &pid, sizeof(pid), p);
	return p;
}

static void forget_process(struct known_process *p)
{
	unwind_maps_remove_process(&tables.maps, p->pid);
	HASH_DEL(tables.processes, p);
	TAILQ_REMOVE(&tables.by_use, p, use);
	known_process_free(p);
}

static struct known_process *known_process_new(const struct wanted_process *w)
{
	struct known_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = w->pid;
	p->mappings = calloc(w->n + 1, sizeof(*p->mappings));
	if (!p->mappings)
		freep(&p);
	return p;
}

/* Adds a mapping; f is NULL if it has no rows. */
static void known_process_add(struct known_process *p, const struct file_mapping *m,
			      const struct known_file *f, uint64_t load_bias)
{
	struct known_mapping *to = &p->mappings[p->n++];

	*to = (struct known_mapping){.start = m->start, .end = m->end};
	if (!f || !f->range)
		return;
	to->range = f->range;
	to->range->n_mappings++;
	to->bias = m->start - (m->offset + load_bias - f->base);
	row_pool_touch(&tables.rows, to->range);
}

/* Replaces the element of the process. Owns p. */
static void known_process_publish(struct known_process *p)
{
	struct known_process *old = find_process(p->pid);

	if (old) {
		HASH_DEL(tables.processes, old);
		TAILQ_REMOVE(&tables.by_use, old, use);
		known_process_free(old);
	} else if (HASH_COUNT(tables.processes) >= UNWIND_PROCESSES_MAX) {
		forget_process(TAILQ_FIRST(&tables.by_use));
	}
	HASH_ADD(hh, tables.processes, pid, sizeof(p->pid), p);
	if (!p->hh.tbl) {
		unwind_maps_remove_process(&tables.maps, p->pid);
		known_process_free(p);
		tables.stats.n_processes_refused++;
	} else {
		TAILQ_INSERT_TAIL(&tables.by_use, p, use);
		write_process(p);
	}
}

/* Removes the range from a process. Returns whether it was there. */
static bool drop_range(struct known_process *p, const struct row_range *r)
{
	bool is_changed = false;

	for (uint32_t i = 0; p && i < p->n; i++)
		if (p->mappings[i].range == r) {
			p->mappings[i].range = NULL;
			p->lacks_rows = is_changed = true;
		}
	return is_changed;
}

static void tables_on_evicted(void *ctx, struct row_range *r)
{
	struct known_process *p;
	struct known_file *f, *next;

	TAILQ_FOREACH (p, &tables.by_use, use)
		if (drop_range(p, r))
			write_process(p);
	(void)drop_range(tables.current.known, r);
	HASH_ITER (hh, tables.files, f, next)
		if (f->range == r) {
			f->range = NULL;
			f->is_read = false;
		}
}

/* ---- wanted processes ---- */

static void wanted_process_free(struct wanted_process *w)
{
	for (uint32_t i = 0; w && i < w->n; i++)
		free(w->mappings[i].path);
	if (w) {
		tables.n_wanted_bytes -= w->n_bytes;
		free(w->mappings);
	}
	free(w);
}

static void drop_wanted(int32_t pid)
{
	struct wanted_process *w;

	TAILQ_FOREACH (w, &tables.wanted, link)
		if (w->pid == pid) {
			TAILQ_REMOVE(&tables.wanted, w, link);
			tables.n_wanted--;
			wanted_process_free(w);
			return;
		}
}

static bool is_vdso(const struct mapped_file *f)
{
	return strcmp(f->path, "[vdso]") == 0;
}

/* Returns whether the mapping may have rows. */
static bool has_file(const struct mapped_file *f)
{
	return is_vdso(f) || (f->inode && f->path[0] == '/' && f->path[1] != '/');
}

static int copy_mapping(struct wanted_process *w, const struct process_mapping *m,
			const struct mapped_file *f)
{
	struct wanted_mapping *to = &w->mappings[w->n];

	if (!has_file(f) && w->n && !to[-1].path && !to[-1].is_vdso && to[-1].m.end == m->start) {
		to[-1].m.end = m->end;
		return 0;
	}
	if (w->n == UNWIND_MAPPINGS_MAX) {
		tables.stats.n_mappings_left_out++;
		return 0;
	}
	*to = (struct wanted_mapping){
		.m = {m->start, m->end, m->offset, f->inode, f->major, f->minor, 0, m->generation},
		.is_vdso = is_vdso(f),
	};
	if (has_file(f) && !to->is_vdso) {
		to->path = strdup(f->path);
		if (!to->path)
			return -ENOMEM;
		w->n_bytes += strlen(to->path) + 1;
	}
	w->n++;
	return 0;
}

/* Copies the mappings of files; those of other code as far as there is room. */
static int copy_mappings(struct wanted_process *w, const struct address_space *a,
			 const struct mapped_files *files)
{
	size_t n_files = 0, n_others;
	int r = 0;

	for (size_t i = 0; i < a->n; i++)
		n_files += has_file(&files->items[a->mappings[i].file]);
	n_others = UNWIND_MAPPINGS_MAX - MIN(n_files, (size_t)UNWIND_MAPPINGS_MAX);
	for (size_t i = 0; i < a->n && r == 0; i++) {
		const struct mapped_file *f = &files->items[a->mappings[i].file];
		uint32_t n = w->n;

		if (!has_file(f) && n_others == 0) {
			tables.stats.n_mappings_left_out++;
			continue;
		}
		r = copy_mapping(w, &a->mappings[i], f);
		n_others -= !has_file(f) && w->n > n;
	}
	return r;
}

/* ---- the current process ---- */

static void drop_rows(void)
{
	freep(&tables.current.rules);
	freep(&tables.current.rows);
	tables.current.n_rows = 0;
	tables.current.file = NULL;
}

static void drop_current(void)
{
	wanted_process_free(tables.current.wanted);
	known_process_free(tables.current.known);
	tables.current.wanted = NULL;
	tables.current.known = NULL;
	drop_rows();
}

static bool take_next_wanted(void)
{
	struct wanted_process *w = TAILQ_FIRST(&tables.wanted);

	if (!w)
		return false;
	TAILQ_REMOVE(&tables.wanted, w, link);
	tables.n_wanted--;
	tables.current.wanted = w;
	tables.current.known = known_process_new(w);
	if (!tables.current.known) {
		tables.stats.n_processes_refused++;
		drop_current();
	}
	return true;
}

/* Adds the next mapping to the current process; f is NULL if it has no rows. */
static void add_mapping(struct known_file *f)
{
	struct known_process *p = tables.current.known;

	known_process_add(p, &tables.current.wanted->mappings[p->n].m, f, tables.current.load_bias);
}

/* All mappings are known: replaces the element of the process. */
static void tables_publish(void)
{
	if (!tables.current.wanted->is_cancelled)
		known_process_publish(TAKE_PTR(tables.current.known));
	drop_current();
}

static struct known_file *get_file(uint32_t number)
{
	struct known_file *f;

	HASH_FIND(hh, tables.files, &number, sizeof(number), f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->number = number;
	HASH_ADD(hh, tables.files, number, sizeof(number), f);
	if (!f->hh.tbl)
		freep(&f);
	return f;
}

/*
 * The file of the next mapping is known; NULL: it cannot be. Adds the mapping, or asks for the
 * rows. Returns false if the mapping has to wait for them.
 */
static bool resolve_file(struct known_file *f)
{
	const struct wanted_process *w = tables.current.wanted;
	const struct wanted_mapping *m = &w->mappings[tables.current.known->n];

	tables.current.file = NULL;
	if (f && f->refused_ns && clock_mono_ns() > f->refused_ns + REFUSED_NS)
		f->is_read = false;
	if (!f || f->is_read) {
		add_mapping(f);
		return true;
	}
	tables.current.file = f;
	if (!file_reader_ask_rows(&tables.reader, 0, f->number, w->pid, m->is_vdso ? NULL : &m->m,
				  m->path))
		event_timer_ms(tables.retry, RETRY_MS);
	return false;
}

/* ---- identified files ---- */

/* Writes the key of a mapped file. Returns its length; 0: the path is too long. */
static size_t identified_key(const struct wanted_mapping *m, char key[static IDENTIFIED_KEY_MAX])
{
	const struct {
		uint32_t major, minor;
		uint64_t inode, generation;
	} head = {m->m.major, m->m.minor, m->m.inode, m->m.generation};
	size_t len = strlen(m->path);

	if (len >= FILE_PATH_MAX)
		return 0;
	memcpy(key, &head, sizeof(head));
	memcpy(key + sizeof(head), m->path, len);
	return sizeof(head) + len;
}

static void forget_identified(void)
{
	struct identified_file *f, *next;

	HASH_ITER (hh, tables.identified, f, next) {
		HASH_DEL(tables.identified, f);
		free(f);
	}
}

static struct identified_file *find_identified(const struct wanted_mapping *m)
{
	char key[IDENTIFIED_KEY_MAX];
	size_t len = identified_key(m, key);
	struct identified_file *f = NULL;

	if (len)
		HASH_FIND(hh, tables.identified, key, len, f);
	return f;
}

static bool is_fresh(const struct identified_file *f)
{
	return clock_mono_ns() < f->until_ns;
}

static void remember_identified(const struct wanted_mapping *m, const struct file_answer *a)
{
	struct identified_file *f = find_identified(m);
	char key[IDENTIFIED_KEY_MAX];
	size_t len = identified_key(m, key);

	if (!len)
		return;
	if (!f) {
		if (HASH_COUNT(tables.identified) >= IDENTIFIED_MAX)
			forget_identified();
		f = calloc(1, sizeof(*f) + len);
		if (!f)
			return;
		memcpy(f->key, key, len);
		HASH_ADD(hh, tables.identified, key[0], len, f);
		if (!f->hh.tbl) {
			free(f);
			return;
		}
	}
	f->until_ns = clock_mono_ns() + IDENTIFIED_NS;
	f->number = a->file;
	f->facts = a->elf;
}

/* Returns the load bias of a mapping, whose file has these facts. */
static uint64_t load_bias(const struct wanted_mapping *m, const struct elf_facts *facts)
{
	struct elf_facts copy = *facts;
	const struct mapped_file file = {.elf = &copy};

	return mapped_file_load_bias(&file, m->m.offset);
}

enum early { EARLY_FINAL, EARLY_KNOWN, EARLY_UNKNOWN };

/*
 * Adds the mapping with the rows of its file if they are there. KNOWN: the file is to be identified
 * anew. UNKNOWN: rows may come.
 */
static enum early known_process_add_early(struct known_process *p, const struct wanted_mapping *m)
{
	const struct identified_file *i = m->path ? find_identified(m) : NULL;
	bool is_final = m->is_vdso || !m->path || (i && is_fresh(i));
	const struct known_file *f = NULL;

	if (m->is_vdso)
		f = get_file(FILE_VDSO);
	else if (i && (m->m.generation || is_final))
		f = get_file(i->number);
	known_process_add(p, &m->m, f, f && i ? load_bias(m, &i->facts) : 0);
	if (f ? !f->is_read || f->refused_ns : m->is_vdso || m->path)
		return EARLY_UNKNOWN;
	return is_final ? EARLY_FINAL : EARLY_KNOWN;
}

/*
 * Gives a process at once what is known of its mappings: the file reader, which identifies files
 * anew, may be busy, and the process may end soon. Does not replace what is there unless all is
 * known. Returns true if the file reader need not be asked.
 */
static bool tables_publish_early(const struct wanted_process *w)
{
	struct known_process *p = known_process_new(w);
	enum early worst = EARLY_FINAL;
	bool has_rows = false;

	if (!p)
		return false;
	for (uint32_t i = 0; i < w->n; i++) {
		enum early early = known_process_add_early(p, &w->mappings[i]);

		worst = MAX(worst, early);
		has_rows = has_rows || p->mappings[i].range;
	}
	if (!has_rows || (worst == EARLY_UNKNOWN && find_process(p->pid))) {
		known_process_free(p);
		return false;
	}
	p->lacks_rows = worst == EARLY_UNKNOWN;
	known_process_publish(p);
	if (tables.current.wanted && tables.current.wanted->pid == w->pid)
		tables.current.wanted->is_cancelled = true; /* its mappings are older */
	return worst == EARLY_FINAL;
}

/* Returns false if the mapping has to wait for an answer. */
static bool resolve_mapping(const struct wanted_mapping *m)
{
	const struct identified_file *known;

	tables.current.load_bias = 0;
	if (m->is_vdso)
		return resolve_file(get_file(FILE_VDSO));
	if (!m->path) {
		add_mapping(NULL);
		return true;
	}
	known = find_identified(m);
	if (known && is_fresh(known)) {
		tables.current.load_bias = load_bias(m, &known->facts);
		return resolve_file(get_file(known->number));
	}
	if (!file_reader_ask_elf(&tables.reader, 0, tables.current.wanted->pid, &m->m, m->path))
		event_timer_ms(tables.retry, RETRY_MS);
	return false;
}

/* Goes on until an answer is needed, or no process is wanted. */
static void tables_continue(void)
{
	while (tables.current.wanted || take_next_wanted()) {
		const struct wanted_process *w = tables.current.wanted;

		if (!w)
			continue; /* no memory for it */
		if (tables.current.known->n == w->n)
			tables_publish();
		else if (!resolve_mapping(&w->mappings[tables.current.known->n]))
			return;
	}
}

/* ---- processes that become wanted ---- */

void unwind_tables_set_process(const struct address_space *a, const struct mapped_files *files)
{
	struct wanted_process *w;

	if (!tables.n_users || !file_reader_is_alive())
		return;
	drop_wanted(a->pid);
	w = tables.n_wanted < UNWIND_WANTED_MAX ? calloc(1, sizeof(*w)) : NULL;
	if (w) {
		w->pid = a->pid;
		w->mappings =
			calloc(MIN(a->n, (size_t)UNWIND_MAPPINGS_MAX) + 1, sizeof(*w->mappings));
		w->n_bytes = sizeof(*w) + UNWIND_MAPPINGS_MAX * sizeof(*w->mappings);
	}
	if (!w || !w->mappings || copy_mappings(w, a, files) < 0 ||
	    tables.n_wanted_bytes + w->n_bytes > UNWIND_WANTED_BYTES_MAX) {
		tables.stats.n_processes_refused++;
		if (w)
			w->n_bytes = 0; /* it was not counted */
		wanted_process_free(w);
		return;
	}
	tables.n_wanted_bytes += w->n_bytes;
	if (tables_publish_early(w)) {
		wanted_process_free(w);
		return;
	}
	TAILQ_INSERT_TAIL(&tables.wanted, w, link);
	tables.n_wanted++;
	if (!tables.current.wanted)
		tables_continue();
}

/* ---- answers ---- */

static void handle_elf(const struct file_answer *a)
{
	const struct wanted_process *w = tables.current.wanted;
	const struct wanted_mapping *m = &w->mappings[tables.current.known->n];
	struct known_file *f = NULL;

	if (a->result == 0) {
		tables.current.load_bias = load_bias(m, &a->elf);
		remember_identified(m, a);
		f = get_file(a->file);
	} else {
		tables.stats.n_unreadable++;
	}
	if (resolve_file(f))
		tables_continue();
}

/* The first answer to a request for rows. Returns false if no rows come. */
static bool begin_rows(const struct file_answer *a)
{
	if (a->result < 0 || !a->rules.head.n_rows)
		return false;
	tables.current.base = a->rules.head.base;
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

static void end_rows(void)
{
	struct known_file *f = tables.current.file;

	if (tables.current.rules && tables.current.rows)
		f->range = row_pool_add(&tables.rows, tables.current.owner, tables.current.rules,
					tables.current.n_rules, tables.current.rows,
					tables.current.n_rows);
	f->refused_ns = f->range ? 0 : clock_mono_ns();
	f->base = tables.current.base;
}

static void handle_rows(const struct file_answer *a)
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
		end_rows();
	} else {
		tables.stats.n_unreadable++;
	}
	f->is_read = true;
	drop_rows();
	add_mapping(f);
	tables_continue();
}

static void tables_on_answer(void *ctx, const struct file_answer *a)
{
	struct wanted_process *w;

	if (a->kind == FILE_REQUEST_FORGET) { /* the reader has ended: nothing is read any more */
		drop_current();
		forget_identified();
		while ((w = TAILQ_FIRST(&tables.wanted)))
			drop_wanted(w->pid);
	} else if (!tables.current.wanted) {
		return;
	} else if (a->kind == FILE_REQUEST_ELF) {
		handle_elf(a);
	} else if (a->kind == FILE_REQUEST_ROWS) {
		handle_rows(a);
	}
}

static void tables_on_retry(evutil_socket_t fd, short what, void *ctx)
{
	if (tables.current.file) {
		if (resolve_file(tables.current.file))
			tables_continue();
	} else if (tables.current.wanted) {
		tables_continue();
	}
}

/* ---- users ---- */

static void tables_deinit(void)
{
	struct known_process *p;
	struct wanted_process *w;

	file_reader_leave(&tables.reader);
	drop_current();
	while ((w = TAILQ_FIRST(&tables.wanted)))
		drop_wanted(w->pid);
	while ((p = TAILQ_FIRST(&tables.by_use)))
		forget_process(p);
	HASH_FREE(tables.files);
	forget_identified();
	event_freep(&tables.retry);
	row_pool_deinit(&tables.rows);
	unwind_maps_destroy(&tables.maps);
}

static int tables_init(struct event_base *loop)
{
	int r = unwind_maps_create(&tables.maps);

	if (r < 0)
		return r;
	TAILQ_INIT(&tables.by_use);
	TAILQ_INIT(&tables.wanted);
	tables.stats = (struct unwind_tables_stats){0};
	tables.rows = (struct row_pool){.evicted = tables_on_evicted};
	tables.reader = (struct file_reader_user){.answered = tables_on_answer};
	tables.retry = evtimer_new(loop, tables_on_retry, NULL);
	r = row_pool_init(&tables.rows, &tables.maps);
	if (r == 0)
		r = tables.retry ? file_reader_join(&tables.reader, loop) : -ENOMEM;
	if (r < 0)
		tables_deinit();
	return r;
}

int unwind_tables_join(struct unwind_tables_user *u, struct event_base *loop)
{
	int r = tables.n_users || u->is_joined ? 0 : tables_init(loop);

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

void unwind_tables_remove_process(int32_t pid)
{
	struct known_process *p;

	if (!tables.n_users)
		return;
	p = find_process(pid);
	if (p)
		forget_process(p);
	drop_wanted(pid);
	if (tables.current.wanted && tables.current.wanted->pid == pid)
		tables.current.wanted->is_cancelled = true;
}

bool unwind_tables_have_process(int32_t pid)
{
	const struct wanted_process *w;

	if (!tables.n_users)
		return false;
	TAILQ_FOREACH (w, &tables.wanted, link)
		if (w->pid == pid)
			return true;
	w = tables.current.wanted;
	return (w && w->pid == pid && !w->is_cancelled) || find_process(pid);
}

bool unwind_tables_use_process(int32_t pid)
{
	struct known_process *p = tables.n_users ? find_process(pid) : NULL;
	uint64_t now = clock_mono_ns();

	if (p) {
		TAILQ_REMOVE(&tables.by_use, p, use);
		TAILQ_INSERT_TAIL(&tables.by_use, p, use);
	}
	for (uint32_t i = 0; p && i < p->n; i++)
		if (p->mappings[i].range)
			row_pool_use(&tables.rows, p->mappings[i].range, now);
	return p && !p->lacks_rows;
}

void unwind_tables_get_stats(struct unwind_tables_stats *ret)
{
	const struct row_range *r;

	*ret = tables.stats;
	if (!tables.n_users)
		return;
	ret->n_processes = HASH_COUNT(tables.processes);
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
		{PB_UNWIND_STATS_PROCESSES, stats->n_processes},
		{PB_UNWIND_STATS_FILES, stats->n_files},
		{PB_UNWIND_STATS_ROWS, stats->n_rows},
		{PB_UNWIND_STATS_RULES, stats->n_rules},
		{PB_UNWIND_STATS_EVICTED, stats->n_evicted},
		{PB_UNWIND_STATS_REFUSED, stats->n_refused},
		{PB_UNWIND_STATS_UNREADABLE, stats->n_unreadable},
		{PB_UNWIND_STATS_PROCESSES_REFUSED, stats->n_processes_refused},
		{PB_UNWIND_STATS_MAPPINGS_LEFT_OUT, stats->n_mappings_left_out},
	};

	pb_enc_open(e, PB_TRACE_PACKET_UNWIND_STATS);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (values[i].value)
			pb_enc_u64(e, values[i].field, values[i].value);
	pb_enc_close(e);
}
