/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A read(2) of exactly one sub-buffer returns the oldest unread one, either complete or the part
 * written so far; the rest comes with later reads. So the first page of a pass is often the rest of
 * a sub-buffer, and the last one the beginning of another:
 *
 *	   pass     |......|       |......|       |......|
 *	   pages    [##  ##][######][##    ]                 # read   blank: not yet written
 *
 * The kernel exchanges a complete sub-buffer for an empty one; it copies a partial one record by
 * record. The space after the records is zero, except for the number of lost records.
 */
#include "ftrace/ring/cpu_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "ftrace/ring/ring_stats.h"

/* ---- present CPUs ---- */

/* Returns true if the list has changed. Zero p before the first call. */
static bool cpu_presence_read(struct cpu_presence *p, const char *sys_root)
{
	char path[4096], now[sizeof(p->list)];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/present", sys_root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, now, sizeof(now) - 1);
		close(fd);
	}
	now[n > 0 ? n : 0] = '\0';
	if (!strcmp(now, p->list))
		return false;
	strcpy(p->list, now);
	return true;
}

static bool cpu_presence_has(const struct cpu_presence *p, uint32_t cpu)
{
	const char *at = p->list;
	uint64_t first, last;

	if (!*at)
		return true;
	for (;; at++) {
		if (str_read_u64(&at, 10, &first))
			return false;
		last = first;
		if (*at == '-') {
			at++;
			if (str_read_u64(&at, 10, &last))
				return false;
		}
		if (cpu >= first && cpu <= last)
			return true;
		if (*at != ',')
			return false;
	}
}

#define MAX_CPUS 8192u /* NR_CPUS of the largest configurations */

/* ---- opening ---- */

struct cpu_list {
	uint32_t *cpus; /* owned */
	size_t n;
	size_t cap;
};

static int cpu_reader_add_cpu(void *ctx, const char *name, unsigned char d_type)
{
	struct cpu_list *l = ctx;
	int after = 0;
	uint32_t cpu;

	if (sscanf(name, "cpu%u%n", &cpu, &after) != 1 || name[after] || cpu >= MAX_CPUS)
		return 0;
	if (array_reserve(&l->cpus, &l->cap, l->n + 1, sizeof(*l->cpus)))
		return -ENOMEM;
	l->cpus[l->n++] = cpu;
	return 0;
}

static int compare_cpu_numbers(const void *a, const void *b)
{
	const struct cpu_reader *x = a, *y = b;

	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int make_readers(struct cpu_readers *r, const struct cpu_list *l)
{
	if (!l->n)
		return -ENODEV;
	r->cpus = calloc(l->n, sizeof(*r->cpus));
	if (!r->cpus)
		return -ENOMEM;
	for (; r->n < l->n; r->n++)
		r->cpus[r->n] = (struct cpu_reader){
			.cpu = l->cpus[r->n], .fd = -1, .done = true, .stats_fd = -1};
	qsort(r->cpus, r->n, sizeof(*r->cpus), compare_cpu_numbers);
	return 0;
}

/* Opens the ring of a CPU. Returns 0 or -errno. An absent CPU is no error. */
static int open_ring(const struct cpu_readers *r, struct cpu_reader *cpu)
{
	char path[4096];

	if (cpu->fd >= 0 || !cpu_presence_has(&r->presence, cpu->cpu))
		return 0;
	snprintf(path, sizeof(path), "%s/cpu%u/trace_pipe_raw", r->dir, cpu->cpu);
	cpu->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return cpu->fd < 0 && errno != ENODEV ? -errno : 0;
}

static int cpu_reader_open_rings(struct cpu_readers *r)
{
	int error = 0, first = 0;

	for (unsigned i = 0; i < r->n; i++) {
		error = open_ring(r, &r->cpus[i]);
		first = first ? first : error;
	}
	return first;
}

int cpu_reader_read_stats(const struct cpu_readers *r, struct cpu_reader *cpu,
			  struct ring_stats *ret)
{
	struct ring_stats stats = {.cpu = cpu->cpu};
	char text[1024];
	ssize_t n;
	int error;

	if (cpu->stats_fd < 0) {
		snprintf(text, sizeof(text), "%s/cpu%u/stats", r->dir, cpu->cpu);
		cpu->stats_fd = open(text, O_RDONLY | O_CLOEXEC);
	}
	n = cpu->stats_fd < 0 ? -1 : pread(cpu->stats_fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	error = ring_stats_parse(text, &stats);
	if (!error)
		*ret = stats;
	return error;
}

/* Returns the number of records that the kernel has overwritten in a ring; UINT64_MAX:
 * unreadable. */
static uint64_t read_overrun(const struct cpu_readers *r, struct cpu_reader *cpu)
{
	struct ring_stats stats;

	return cpu_reader_read_stats(r, cpu, &stats) ? UINT64_MAX : stats.overrun;
}

/* Excludes records that were overwritten before this call from the lost ranges. */
static void begin_lost_ranges(struct cpu_readers *r)
{
	uint64_t overrun;

	for (unsigned i = 0; i < r->n; i++) {
		overrun = r->cpus[i].fd < 0 ? 0 : read_overrun(r, &r->cpus[i]);
		if (overrun && overrun != UINT64_MAX)
			r->cpus[i].lost = (struct lost_ranges){.accounted = overrun, .loose = true};
	}
}

int cpu_readers_open(struct cpu_readers *r, const struct instance *i, const char *sys_root,
		     const struct ring_page_layout *layout, uint32_t buffer_kb, struct err_text *e)
{
	struct cpu_list list = {0};
	int error;

	r->sys_root = sys_root;
	cpu_presence_read(&r->presence, sys_root);
	r->pass_max = (uint32_t)MIN((uint64_t)buffer_kb * 1024 + 3ull * layout->size, UINT32_MAX);
	r->page_size = layout->size;
	r->page = malloc(layout->size);
	r->dir = instance_make_path(i, "per_cpu");
	error = r->page && r->dir ? fs_each(r->dir, cpu_reader_add_cpu, &list) : -ENOMEM;
	if (!error)
		error = make_readers(r, &list);
	free(list.cpus);
	if (error) {
		cpu_readers_close(r);
		return err_set(e, error, "cannot read the list of CPUs in tracefs: %s",
			       strerror(-error));
	}
	error = cpu_reader_open_rings(r);
	if (error) {
		cpu_readers_close(r);
		return err_set(e, error,
			       "cannot open the kernel's ring buffer (trace_pipe_raw): %s",
			       strerror(-error));
	}
	if (!instance_is_own(i))
		begin_lost_ranges(r);
	return 0;
}

void cpu_readers_close(struct cpu_readers *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		closep(&r->cpus[i].fd);
		closep(&r->cpus[i].stats_fd);
	}
	free(r->dir);
	free(r->cpus);
	free(r->page);
	*r = (struct cpu_readers){0};
}

void cpu_readers_open_new(struct cpu_readers *r)
{
	if (cpu_presence_read(&r->presence, r->sys_root) || r->unopened)
		r->unopened = cpu_reader_open_rings(r) != 0;
}

/* ---- reading ---- */

void cpu_reader_begin_pass(struct cpu_reader *cpu)
{
	cpu->done = cpu->fd < 0;
	cpu->pass_bytes = 0;
	cpu->nearly_empty = false;
}

void cpu_readers_begin_pass(struct cpu_readers *r)
{
	for (unsigned i = 0; i < r->n; i++)
		cpu_reader_begin_pass(&r->cpus[i]);
}

/* Returns true if there is nothing to read: the ring is empty, or the CPU was never online. If the
 * kernel is short of memory, the next tick retries; a flush gives up. */
static bool is_nothing_to_read(int error, bool to_the_end)
{
	return error == EAGAIN || error == ENODEV ||
	       (!to_the_end && (error == ENOMEM || error == EBUSY));
}

/* Counts the status of a sub-buffer. One that was read partially is useless, and the kernel does
 * not return it again. */
static void count_page_status(struct page_encode_target *to, unsigned n,
			      enum ring_page_status status)
{
	for (unsigned i = 0; i < n; i++) {
		to[i].t->status_counts[status]++;
		if (status == RING_PAGE_PARTIAL_READ)
			to[i].cpu->gap = true;
	}
}

/* Returns RING_PAGE_OK if a page was read, RING_PAGE_END if there is none, or the error. */
static enum ring_page_status read_page_of_ring(struct cpu_readers *r, struct cpu_reader *cpu,
					       bool to_the_end)
{
	ssize_t n;

	do
		n = read(cpu->fd, r->page, r->page_size);
	while (n < 0 && errno == EINTR);
	cpu->absent = n < 0 && errno == ENODEV;
	if (n == (ssize_t)r->page_size)
		return RING_PAGE_OK;
	if (n < 0 && !is_nothing_to_read(errno, to_the_end))
		return RING_PAGE_READ_ERROR;
	return n > 0 ? RING_PAGE_PARTIAL_READ : RING_PAGE_END;
}

static void update_lost_ranges(struct cpu_readers *r, struct cpu_reader *cpu,
			       struct page_encode_target *to, unsigned n,
			       const struct ring_page_facts *page)
{
	struct lost_range range;
	uint64_t overrun = 0;

	if (lost_ranges_needs_overrun(&cpu->lost, page))
		overrun = read_overrun(r, cpu);
	if (lost_ranges_add(&cpu->lost, page, overrun, &range))
		page_encode_lost_range(to, n, &range);
}

/* Ends the open range if the ring is empty. A flush (to_the_end) ends it even if it is not. */
static void end_lost_range(struct cpu_reader *cpu, struct page_encode_target *to, unsigned n,
			   bool is_empty, bool to_the_end)
{
	struct lost_range range;

	if ((is_empty || to_the_end) && lost_ranges_end(&cpu->lost, is_empty, &range))
		page_encode_lost_range(to, n, &range);
}

uint32_t cpu_reader_read_pages(struct cpu_readers *r, struct cpu_reader *cpu,
			       struct page_encode_target *to, unsigned n, uint32_t max,
			       bool to_the_end)
{
	uint32_t read_before = cpu->pass_bytes;
	bool nearly_empty, is_empty = false;
	enum ring_page_status status;
	struct ring_page_facts page;

	while (!cpu->done && cpu->pass_bytes - read_before < max) {
		status = read_page_of_ring(r, cpu, to_the_end);
		if (status != RING_PAGE_OK) {
			cpu->done = true;
			is_empty = status == RING_PAGE_END;
			if (!is_empty)
				count_page_status(to, n, status);
			break;
		}
		page = page_encode_for_targets(to, n, r->page, r->page_size);
		update_lost_ranges(r, cpu, to, n, &page);
		cpu->pass_bytes += r->page_size;
		if (cpu->pass_bytes >= r->pass_max)
			cpu->done = true;
		/* The first page may be the rest of a page whose beginning was read before. */
		nearly_empty = page.used < r->page_size / 2 && cpu->pass_bytes > r->page_size;
		if (nearly_empty && (!to_the_end || cpu->nearly_empty))
			cpu->done = true;
		cpu->nearly_empty = nearly_empty;
	}
	if (cpu->done)
		end_lost_range(cpu, to, n, is_empty, to_the_end);
	for (unsigned i = 0; i < n; i++)
		page_encode_end(to[i].t, to[i].cpu);
	return cpu->pass_bytes - read_before;
}
