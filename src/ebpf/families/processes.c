/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and I/O of every process. One read of an iterator in the kernel (bpf/processes.bpf.c)
 * replaces files of /proc, of which two remain:
 *
 *	statm     the exact memory, of a process that ran or whose rough memory changed
 *	cmdline   the name, of a process that is new or executed another program
 *
 * Other processes can change the memory of a process that does not run, by amounts that the rough
 * memory does not show. So each process is read again every READ_AGAIN periods.
 *
 * Ids of the iterator are those of the initial pid namespace. If /proc has others, rows have the
 * rough memory, and names are those of main threads.
 */
#include "ebpf/families/families.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "bpf/processes.h"
#include "client/transport/writer.h"
#include "ebpf/engine/images.h"
#include "ebpf/tracks/counter.h"
#include "ebpf/tracks/process_rows.h"

EBPF_DECLARE(processes);

#define READ_AGAIN 16u
#define PROCESSES_LIMIT 65536u /* further ones are ignored and counted */
#define NAME_MAX_BYTES 255u
#define INITIAL_PID_NAMESPACE 0xeffffffcu /* inode: PROC_PID_INIT_INO of the kernel */

static const struct ebpf_need needs[] = {
	NEED_MEMBER("bpf_iter_meta", "session_id"), /* iterators: 5.8 */
	NEED_MEMBER("task_struct", "start_boottime"),
	NEED_MEMBER("task_io_accounting", "read_bytes"), /* CONFIG_TASK_IO_ACCOUNTING */
	NEED_END,
};

static const struct ebpf_variant variants[] = {{"iter", EBPF_IMAGE(processes), needs}};

/* Values of a row, after its pid. */
enum { START, RSS, READ, WRITTEN, COLUMNS };

/* With thread_rows, a thread. */
struct process {
	uint32_t pid; /* of a thread its own id */
	UT_hash_handle hh;
	uint32_t period; /* last period that met it */
	uint64_t ran_ns, ran_before;
	uint64_t memory, memory_before; /* the rough memory */
	uint64_t row[COLUMNS];
	char comm[PROCESSES_COMM];
	uint32_t parent_pid;
	uint32_t tgid; /* of a thread; 0: a process */
	bool is_kthread;
	bool is_named; /* the trace has its name */
};

struct process_table {
	struct process *all; /* owned */
	uint32_t period;
	int proc; /* owned; -1: /proc has other ids */
	uint64_t dropped; /* packets of the writer, at the last period */
	uint64_t ignored;
	uint32_t lost_track;
	size_t page;
	char buffer[32768];
};

static int processes_begin(struct ebpf_run *r)
{
	struct process_table *s = r->state;
	char path[256];
	struct stat st;

	s->proc = -1;
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	if (!r->process_rows)
		return err_set(&r->why, -EINVAL, "processes writes rows only; set process_rows");
	if (fs_join(path, sizeof(path), r->proc_root, "self/ns/pid") == 0 && stat(path, &st) == 0 &&
	    st.st_ino == INITIAL_PID_NAMESPACE)
		s->proc = open(r->proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

/* ---- the iterator ---- */

static struct process *processes_find_or_add(struct process_table *s, uint32_t pid)
{
	struct process *p;

	HASH_FIND(hh, s->all, &pid, sizeof(pid), p);
	if (p)
		return p;
	p = HASH_COUNT(s->all) < PROCESSES_LIMIT ? calloc(1, sizeof(*p)) : NULL;
	if (p) {
		p->pid = pid;
		HASH_ADD(hh, s->all, pid, sizeof(p->pid), p);
		if (!p->hh.tbl)
			free(TAKE_PTR(p));
	}
	if (!p)
		s->ignored++;
	return p;
}

/* Copies what a thread knows of its process. If that is another program, or another process with
 * this id, it has another name. t: the main thread, or the only one. */
static void update_name(struct process *p, const struct processes_thread *t)
{
	if (p->row[START] != t->start_ns || memcmp(p->comm, t->comm, sizeof(p->comm)) != 0 ||
	    p->parent_pid != t->parent_pid)
		p->is_named = false;
	if (p->row[START] != t->start_ns)
		p->memory_before = p->ran_before = 0;
	p->row[START] = t->start_ns;
	memcpy(p->comm, t->comm, sizeof(p->comm));
	p->parent_pid = t->parent_pid;
	p->is_kthread = t->is_kthread;
	p->memory = t->memory;
}

static void processes_add_thread(struct process_table *s, const struct processes_thread *t,
				 bool by_thread)
{
	struct process *p = processes_find_or_add(s, by_thread ? t->tid : t->pid);

	if (!p)
		return;
	if (p->period != s->period) {
		p->period = s->period;
		p->ran_ns = p->memory = p->row[READ] = p->row[WRITTEN] = 0;
	}
	p->ran_ns += t->ran_ns;
	p->row[READ] += t->read_bytes;
	p->row[WRITTEN] += t->write_bytes;
	p->tgid = by_thread ? t->pid : 0;
	if (by_thread || t->tid == t->pid)
		update_name(p, t);
}

static int read_threads(struct process_table *s, const struct ebpf_object *o, bool by_thread)
{
	_cleanup_(closep) int fd = ebpf_object_open_iterator(o, "each_thread");
	size_t have = 0;

	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t n = read(fd, s->buffer + have, sizeof(s->buffer) - have);
		struct processes_thread t;
		size_t at = 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		have += (size_t)n;
		for (; have - at >= sizeof(t); at += sizeof(t)) {
			memcpy(&t, s->buffer + at, sizeof(t));
			processes_add_thread(s, &t, by_thread);
		}
		memmove(s->buffer, s->buffer + at, have - at);
		have -= at;
	}
}

/* ---- files of /proc ---- */

/* Returns the bytes that were read, or -1. */
static ssize_t processes_read_file(const struct process_table *s, uint32_t pid, const char *name,
				   char *buf, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%u/%s", pid, name);
	fd = openat(s->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

/* Updates the process's RSS, if it ran, if its rough memory changed, and every READ_AGAIN periods:
 * from the second number of statm, or from the rough memory if statm cannot be read. */
static void processes_read_memory(struct process_table *s, struct process *p)
{
	bool changed = p->ran_ns != p->ran_before || p->memory != p->memory_before;
	unsigned long pages;
	char text[128];

	p->ran_before = p->ran_ns;
	if (!p->memory) {
		p->memory_before = p->row[RSS] = 0;
		return;
	}
	if (!changed && (p->pid + s->period) % READ_AGAIN)
		return;
	p->memory_before = p->memory;
	if (s->proc >= 0 && processes_read_file(s, p->pid, "statm", text, sizeof(text)) > 0 &&
	    sscanf(text, "%*u %lu", &pages) == 1)
		p->row[RSS] = (uint64_t)pages * s->page;
	else
		p->row[RSS] = (p->memory - 1) * s->page;
}

static void write_name(struct process_table *s, struct process *p, struct process_rows *rows)
{
	char name[NAME_MAX_BYTES + 1];

	p->is_named = true;
	if (p->is_kthread || p->tgid || s->proc < 0 ||
	    processes_read_file(s, p->pid, "cmdline", name, sizeof(name)) <= 0 || !name[0]) {
		memcpy(name, p->comm, sizeof(p->comm));
		name[sizeof(p->comm)] = '\0';
	}
	str_make_plain(name, strlen(name), "");
	process_rows_add_name(rows, p->pid,
			      &(struct process_rows_name){.name = name,
							  .parent_pid = p->parent_pid,
							  .tgid = p->tgid,
							  .is_kthread = p->is_kthread});
}

/* ---- a period ---- */

static void processes_remove(struct process_table *s, struct process *p)
{
	HASH_DEL(s->all, p);
	free(p);
}

static void processes_write_all(struct process_table *s, struct ebpf_run *r)
{
	struct process_rows rows = {.run = r, .at = clock_boot_ns(), .columns = COLUMNS};
	struct process *p, *next;

	HASH_ITER (hh, s->all, p, next) {
		if (p->period != s->period) {
			processes_remove(s, p);
			continue;
		}
		processes_read_memory(s, p);
		process_rows_add(&rows, p->pid, p->row);
	}
	HASH_ITER (hh, s->all, p, next)
		if (!p->is_named)
			write_name(s, p, &rows);
	process_rows_end(&rows);
}

static int read_period(struct ebpf_run *r)
{
	struct process_table *s = r->state;
	uint64_t dropped = writer_dropped(r->writer);
	struct process *p, *next;
	int e;

	if (r->is_cleared || dropped != s->dropped)
		HASH_ITER (hh, s->all, p, next)
			p->is_named = false;
	r->is_cleared = false;
	s->dropped = dropped;
	s->period++;
	e = read_threads(s, r->object, r->thread_rows);
	if (e < 0)
		return e;
	processes_write_all(s, r);
	if (s->ignored)
		ebpf_set_lost(r, &s->lost_track, "processes lost", "threads without a row: no room",
			      s->ignored);
	return 0;
}

static void processes_remove_tracks(struct ebpf_run *r)
{
	struct process_table *s = r->state;

	tracks_remove(r->tracks, s->lost_track);
}

static void processes_end(struct ebpf_run *r)
{
	struct process_table *s = r->state;
	struct process *p, *next;

	HASH_ITER (hh, s->all, p, next)
		processes_remove(s, p);
	closep(&s->proc);
}

const struct ebpf_family processes_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__PROCESSES,
	.name = "processes",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.state_size = sizeof(struct process_table),
	.begin = processes_begin,
	.read = read_period,
	.remove_tracks = processes_remove_tracks,
	.end = processes_end,
};
