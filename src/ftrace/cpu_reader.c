// SPDX-License-Identifier: Apache-2.0
/*
 * read(2) of exactly one sub-buffer gives the oldest unread one whole, or as much of it as is
 * written so far; the rest comes with later reads. So the first page of a pass is often a
 * remainder, and the last one a beginning:
 *
 *	   pass     |......|       |......|       |......|
 *	   pages    [##  ##][######][##    ]                 # read   blank: not yet written
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "ftrace/cpu_reader.h"

#define MAX_CPUS 8192u /* NR_CPUS of the largest configurations */

/* ---- which CPUs ---- */

struct cpu_list {
	const char *sys_root;
	uint32_t *cpus; /* owned */
	size_t n;
	size_t cap;
	bool present_only;
};

/* Rings exist for every CPU that could ever be plugged in; folders in /sys for those there are. */
static bool is_present(const struct cpu_list *l, uint32_t cpu)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u", l->sys_root, cpu);
	return fs_exists(path);
}

static int add_cpu(void *ctx, const char *name, unsigned char d_type)
{
	struct cpu_list *l = ctx;
	int after = 0;
	uint32_t cpu;

	(void)d_type;
	if (sscanf(name, "cpu%u%n", &cpu, &after) != 1 || name[after] || cpu >= MAX_CPUS)
		return 0;
	if (l->present_only && !is_present(l, cpu))
		return 0;
	if (array_reserve(&l->cpus, &l->cap, l->n + 1, sizeof(*l->cpus)))
		return -ENOMEM;
	l->cpus[l->n++] = cpu;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int list_cpus(struct cpu_list *l, const struct instance *i)
{
	_cleanup_(freep) char *dir = instance_path_of(i, "per_cpu");
	int r;

	if (!dir)
		return -ENOMEM;
	l->present_only = true;
	r = fs_each(dir, add_cpu, l);
	if (!r && !l->n) {
		l->present_only = false;
		r = fs_each(dir, add_cpu, l);
	}
	if (!r && !l->n)
		r = -ENODEV;
	if (!r)
		qsort(l->cpus, l->n, sizeof(*l->cpus), by_number);
	return r;
}

/* ---- opening ---- */

static int open_ring(struct cpu_readers *r, const struct instance *i, uint32_t cpu)
{
	char file[64];
	int fd;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	fd = instance_open(i, file, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return fd;
	r->cpus[r->n++] = (struct cpu_reader){.fd = fd, .done = true, .stream = {.cpu = cpu}};
	return 0;
}

int cpu_readers_open(struct cpu_readers *r, const struct instance *i, const char *sys_root,
		     const struct page_layout *layout, uint32_t buffer_kb, struct err_text *e)
{
	struct cpu_list list = {.sys_root = sys_root};
	int error = list_cpus(&list, i);

	if (error) {
		free(list.cpus);
		return err_set(e, error, "cannot read the list of CPUs in tracefs: %s",
			       strerror(-error));
	}
	r->max_pages = (uint32_t)((uint64_t)buffer_kb * 1024 / layout->size) + 3;
	r->page = malloc(layout->size);
	r->cpus = calloc(list.n, sizeof(*r->cpus));
	if (!r->page || !r->cpus)
		error = -ENOMEM;
	for (size_t at = 0; !error && at < list.n; at++)
		error = open_ring(r, i, list.cpus[at]);
	free(list.cpus);
	if (error) {
		cpu_readers_close(r);
		err_set(e, error, "cannot open the kernel's ring (trace_pipe_raw): %s",
			strerror(-error));
	}
	return error;
}

void cpu_readers_close(struct cpu_readers *r)
{
	for (unsigned i = 0; i < r->n; i++)
		close(r->cpus[i].fd);
	free(r->cpus);
	free(r->page);
	*r = (struct cpu_readers){0};
}

/* ---- reading ---- */

void cpu_readers_begin(struct cpu_readers *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		r->cpus[i].done = false;
		r->cpus[i].pass_pages = 0;
	}
}

/* Nothing to read: empty, a CPU that is not there now, or memory that the kernel lacks for the
 * moment. */
static bool is_nothing(int error)
{
	return error == EAGAIN || error == ENODEV || error == ENOMEM || error == EBUSY;
}

/* True when a page was read. */
static bool read_page(struct cpu_readers *r, struct cpu_reader *cpu, struct translator *t)
{
	uint32_t size = t->layout.size;
	ssize_t n;

	do
		n = read(cpu->fd, r->page, size);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)size)
		return true;
	if (n < 0 && !is_nothing(errno))
		t->status_counts[PAGE_READ_ERROR]++;
	else if (n > 0)
		t->status_counts[PAGE_PARTIAL_READ]++;
	return false;
}

uint32_t cpu_reader_run(struct cpu_readers *r, struct cpu_reader *cpu, struct translator *t,
			uint32_t max, bool to_the_end)
{
	uint32_t n, used;

	for (n = 0; n < max && !cpu->done; n++) {
		if (!read_page(r, cpu, t)) {
			cpu->done = true;
			break;
		}
		used = translate_page(t, &cpu->stream, r->page, t->layout.size);
		cpu->pass_pages++;
		if (cpu->pass_pages >= r->max_pages)
			cpu->done = true;
		if (!to_the_end && cpu->pass_pages > 1 && used < t->layout.size / 2)
			cpu->done = true;
	}
	translate_end(t, &cpu->stream);
	return n;
}
