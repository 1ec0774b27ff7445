/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record ends with the fields of sample_id_all. A sample has these fields at its beginning:
 *
 *	sample     header | pid tid | time | cpu 0 | (n) | count | (lost) | ... | n, n addresses
 *	others     header | ... | pid tid | time | cpu 0
 */
#include "stacks/frames/cpu_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"

static char scratch[CPU_RING_RECORD_MAX];

/* Opens the event with a ring of that size. */
static int open_with_pages(struct cpu_ring *r, const struct perf_event_attr *event, unsigned cpu,
			   uint32_t pages)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = *event;
	int error;

	*r = (struct cpu_ring){.fd = -1, .cpu = cpu, .size = pages * page_size};
	attr.watermark = 1;
	if (!attr.wakeup_watermark)
		attr.wakeup_watermark = (uint32_t)(r->size / 2);
	r->fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	r->page = mmap(NULL, r->size + page_size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->page != MAP_FAILED)
		return 0;
	error = errno == EPERM ? ENOMEM : errno; /* a limit of locked memory */
	r->page = NULL;
	cpu_ring_close(r);
	return -error;
}

int cpu_ring_open(struct cpu_ring *r, struct perf_event_attr *attr, unsigned cpu, uint32_t *pages)
{
	uint64_t group = attr->read_format & PERF_FORMAT_GROUP;
	int error;

	attr->read_format = group | PERF_FORMAT_LOST;
	while ((error = open_with_pages(r, attr, cpu, *pages)) < 0)
		if (error == -EINVAL && attr->read_format & PERF_FORMAT_LOST)
			attr->read_format = group;
		else if (error == -ENOMEM && *pages > 1)
			*pages /= 2;
		else
			break;
	r->counts_lost = (attr->read_format & PERF_FORMAT_LOST) != 0;
	r->is_group = group != 0;
	return error;
}

uint64_t cpu_ring_count_unreported_lost(const struct cpu_ring *r)
{
	uint64_t values[1 + 2 * CPU_RING_GROUP_MAX] = {0}; /* (n), count, lost, ... */
	uint64_t lost;

	if (!r->counts_lost || read(r->fd, values, sizeof(values)) < 0)
		return 0;
	lost = values[r->is_group ? 2 : 1];
	return lost > r->reported_lost ? lost - r->reported_lost : 0;
}

void cpu_ring_close(struct cpu_ring *r)
{
	event_freep(&r->wakeup);
	if (r->page)
		munmap(r->page, r->size + (size_t)sysconf(_SC_PAGESIZE));
	r->page = NULL;
	closep(&r->fd);
}

int cpu_ring_set_filter(struct cpu_ring *r, const char *filter)
{
	return ioctl(r->fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0 ? -errno : 0;
}

int cpu_ring_enable(struct cpu_ring *r, bool yes)
{
	return ioctl(r->fd, yes ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0 ? -errno
											 : 0;
}

/* ---- records ---- */

static void copy_from_ring(const struct cpu_ring *r, uint64_t at, void *to, size_t n)
{
	const char *data = (const char *)r->page + sysconf(_SC_PAGESIZE);
	size_t from = at & (r->size - 1), first = MIN(n, r->size - from);

	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, n - first);
}

/* Reads the size and the time of the next record. Sets r->broken if the record is invalid. */
static void cpu_ring_read_head(struct cpu_ring *r)
{
	struct perf_event_header h;
	uint64_t left = r->head - r->at;
	size_t time_at;

	r->has_next = false;
	if (r->broken || left < sizeof(h))
		return;
	copy_from_ring(r, r->at, &h, sizeof(h));
	if (h.size < sizeof(h) + 24 || h.size > left) {
		r->broken = true;
		return;
	}
	time_at = h.type == PERF_RECORD_SAMPLE ? sizeof(h) + 8 : h.size - 16u;
	copy_from_ring(r, r->at + time_at, &r->time, sizeof(r->time));
	r->has_next = true;
}

void cpu_ring_refresh(struct cpu_ring *r)
{
	/* Pairs with the kernel's barrier between the data and data_head. */
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	if (r->head - r->at > r->size)
		r->broken = true;
	cpu_ring_read_head(r);
}

const struct perf_event_header *cpu_ring_peek(struct cpu_ring *r)
{
	const char *data = (const char *)r->page + sysconf(_SC_PAGESIZE);
	size_t from = r->at & (r->size - 1);
	struct perf_event_header h;

	if (!r->has_next)
		return NULL;
	copy_from_ring(r, r->at, &h, sizeof(h));
	if (from + h.size <= r->size)
		return (const struct perf_event_header *)(data + from);
	copy_from_ring(r, r->at, scratch, h.size);
	return (const struct perf_event_header *)scratch;
}

void cpu_ring_consume(struct cpu_ring *r)
{
	struct perf_event_header h;

	copy_from_ring(r, r->at, &h, sizeof(h));
	r->at += h.size;
	cpu_ring_read_head(r);
}

void cpu_ring_release(struct cpu_ring *r)
{
	/* Release: we have read the records before the kernel can see the new data_tail and
	 * overwrite them. Pairs with the kernel, which reads data_tail before it writes new
	 * data. */
	__atomic_store_n(&r->page->data_tail, r->at, __ATOMIC_RELEASE);
}
