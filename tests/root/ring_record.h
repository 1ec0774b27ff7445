/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <event-parse.h>
#include <kbuffer.h>

#include "base/system/fs.h"
#include "ftrace/format/ring_page.h"

/* Raw sub-buffers of the running kernel, from an instance of the test's own, in memory; and the
 * records in them, as libtraceevent finds them. Failures end the program: with 77 where there is no
 * way to record here. ring_leave removes the instance (atexit). */
#define RING_CPUS 1024
#define RINGS_KB (256u << 10) /* of all CPUs */

static struct {
	char *dir; /* of the instance, once it is made */
	struct ring_page_layout layout;
	unsigned n_cpus;
	struct {
		int fd;
		uint8_t *pages;
		size_t n, cap;
	} cpus[RING_CPUS];
} ring;

/* The file's text, owned by the caller; NULL: it cannot be read. */
__attribute__((format(printf, 1, 2))) static inline char *ring_text(const char *fmt, ...)
{
	struct strbuf s = {0};
	char path[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (fs_read_file(path, 1 << 26, &s)) {
		strbuf_deinit(&s);
		return NULL;
	}
	return strbuf_take(&s);
}

static inline int ring_set(const char *file, const char *text)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", ring.dir, file);
	return fs_write_file(path, text, false);
}

static inline void ring_leave(void)
{
	if (!ring.dir)
		return;
	for (unsigned i = 0; i < ring.n_cpus; i++)
		close(ring.cpus[i].fd);
	ring_set("tracing_on", "0");
	ring_set("events/enable", "0");
	rmdir(ring.dir);
}

static inline void ring_give_up(const char *why)
{
	fprintf(stderr, "%s: %s\n", why, strerror(errno));
	exit(77);
}

/* The instance, with nothing on, and its rings open. */
static inline void ring_make(const char *tracefs)
{
	char path[1024], *text;

	snprintf(path, sizeof(path), "%s/instances/oracle-%d", tracefs, (int)getpid());
	if (mkdir(path, 0700))
		ring_give_up(path);
	ring.dir = strdup(path);
	if (ring_set("tracing_on", "0") || ring_set("trace_clock", "boot"))
		ring_give_up("cannot set the instance up");
	text = ring_text("%s/events/header_page", tracefs);
	if (!text || ring_page_layout_parse(text, &ring.layout))
		ring_give_up("events/header_page");
	free(text);
	for (; ring.n_cpus < RING_CPUS; ring.n_cpus++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", ring.dir,
			 ring.n_cpus);
		ring.cpus[ring.n_cpus].fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (ring.cpus[ring.n_cpus].fd < 0)
			break;
	}
	snprintf(path, sizeof(path), "%u", RINGS_KB / (ring.n_cpus ? ring.n_cpus : 1));
	if (ring_set("buffer_size_kb", path))
		ring_give_up("no memory for the rings");
}

/* Records in the rings, from the kernel's own counters. */
static inline uint64_t ring_entries(void)
{
	uint64_t n = 0;

	for (unsigned cpu = 0; cpu < ring.n_cpus; cpu++) {
		char *stats = ring_text("%s/per_cpu/cpu%u/stats", ring.dir, cpu);

		n += stats && strstr(stats, "entries: ") ? strtoull(stats + 9, NULL, 10) : 0;
		free(stats);
	}
	return n;
}

/* Until there are so many or it takes too long; with marks in between. */
static inline void ring_wait(uint64_t events, time_t until)
{
	while (ring_entries() < events && time(NULL) < until) {
		ring_set("trace_marker", "I|1|a mark\n");
		ring_set("trace_marker_raw", "\x01\x02\x03\x04raw data");
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
}

static inline void ring_add_page(unsigned cpu, const void *page)
{
	size_t size = ring.layout.size, need = (ring.cpus[cpu].n + 1) * size;

	if (need > ring.cpus[cpu].cap) {
		ring.cpus[cpu].cap = 2 * need;
		ring.cpus[cpu].pages = realloc(ring.cpus[cpu].pages, 2 * need);
	}
	memcpy(ring.cpus[cpu].pages + need - size, page, size);
	ring.cpus[cpu].n++;
}

/* Everything that is in the rings into memory. Nothing is recorded any more: reading is, too. */
static inline void ring_read(void)
{
	void *page = malloc(ring.layout.size);

	for (unsigned cpu = 0; cpu < ring.n_cpus; cpu++)
		while (read(ring.cpus[cpu].fd, page, ring.layout.size) == (ssize_t)ring.layout.size)
			ring_add_page(cpu, page);
	free(page);
}

/* ---- records ---- */

struct ring_records {
	struct kbuffer *k;
	const uint8_t *page;
	size_t n_pages;
	bool in_page;
};

static inline struct ring_records ring_records(unsigned cpu)
{
	return (struct ring_records){
		.k = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE),
		.page = ring.cpus[cpu].pages,
		.n_pages = ring.cpus[cpu].n,
	};
}

/* The next record and its time; false: there is no more. */
static inline bool ring_next(struct ring_records *in, struct tep_record *r,
			     unsigned long long *time)
{
	void *data = in->in_page ? kbuffer_next_event(in->k, time) : NULL;

	while (!data && in->n_pages) {
		kbuffer_load_subbuffer(in->k, (void *)in->page);
		data = kbuffer_read_event(in->k, time);
		in->page += ring.layout.size;
		in->n_pages--;
	}
	in->in_page = data;
	if (!data)
		return false;
	r->data = data;
	r->size = kbuffer_event_size(in->k);
	return true;
}
