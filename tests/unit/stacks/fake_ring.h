/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <string.h>
#include <sys/mman.h>

#include "stacks/frames/cpu_ring.h"
#include "unit/test.h"

/* A ring of a perf event in plain memory. The test writes records as the kernel does, at
 * data_head. */
#define FAKE_RING_BYTES 4096u

static inline struct cpu_ring fake_ring_new(unsigned cpu)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct cpu_ring r = {.fd = -1, .cpu = cpu, .size = FAKE_RING_BYTES};

	r.page = mmap(NULL, page + r.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	assert_true(r.page != MAP_FAILED);
	return r;
}

static inline void fake_ring_bytes(struct cpu_ring *r, const void *data, size_t n)
{
	char *to = (char *)r->page + sysconf(_SC_PAGESIZE);

	assert_true(r->page->data_head + n - r->page->data_tail <= r->size);
	for (size_t i = 0; i < n; i++)
		to[r->page->data_head++ & (r->size - 1)] = ((const char *)data)[i];
}

/* Writes a record: its head, the body, and what sample_id_all adds to all but samples. */
static inline void fake_ring_record(struct cpu_ring *r, uint32_t type, uint16_t misc, uint64_t time,
				    const void *body, size_t n)
{
	const uint64_t end[] = {0, time, r->cpu};
	const struct perf_event_header h = {
		type, misc,
		(uint16_t)(sizeof(h) + n + (type == PERF_RECORD_SAMPLE ? 0 : sizeof(end)))};

	fake_ring_bytes(r, &h, sizeof(h));
	fake_ring_bytes(r, body, n);
	if (type != PERF_RECORD_SAMPLE)
		fake_ring_bytes(r, end, sizeof(end));
}

/* Writes a sample with a call chain. */
static inline void fake_ring_sample(struct cpu_ring *r, uint64_t time, uint32_t pid,
				    const uint64_t *chain, size_t n)
{
	uint64_t body[64] = {(uint64_t)pid << 32 | pid, time, r->cpu, 1, n};

	assert_true(n + 5 <= ARRAY_SIZE(body));
	memcpy(body + 5, chain, n * sizeof(*chain));
	fake_ring_record(r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, time, body, (5 + n) * 8);
}
