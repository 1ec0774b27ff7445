/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a ring (kernel/bpf/ringbuf.c): a page with the position of the consumer, a page with
 * that of the producer, then the data, mapped twice in a row, so that a record never wraps around.
 * A record has a head of 8 bytes, whose first 4 are its length and two flags.
 */
#include "ebpf/engine/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

static int ebpf_ring_map(int fd, size_t offset, size_t size, int protection, void **ret)
{
	void *at = mmap(NULL, size, protection, MAP_SHARED, fd, (off_t)offset);

	if (at == MAP_FAILED)
		return -errno;
	*ret = at;
	return 0;
}

int ebpf_ring_init(struct ebpf_ring *r, int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int error = fd < 0 ? fd : 0;

	r->size = size;
	if (error == 0)
		error = ebpf_ring_map(fd, 0, page, PROT_READ | PROT_WRITE, &r->consumer);
	if (error == 0)
		error = ebpf_ring_map(fd, page, page + 2 * size, PROT_READ, &r->producer);
	if (error == 0)
		r->at = __atomic_load_n((const unsigned long *)r->consumer, __ATOMIC_RELAXED);
	return error;
}

void ebpf_ring_deinit(struct ebpf_ring *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (r->consumer)
		munmap(r->consumer, page);
	if (r->producer)
		munmap(r->producer, page + 2 * r->size);
	*r = (struct ebpf_ring){0};
}

static size_t ebpf_ring_record_room(uint32_t size)
{
	return (size + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

const void *ebpf_ring_peek(struct ebpf_ring *r, uint32_t *ret_size)
{
	const char *data = (const char *)r->producer + sysconf(_SC_PAGESIZE);
	/* Acquire: the head of a record is written before the producer's position passes it. */
	uint64_t end = __atomic_load_n((const unsigned long *)r->producer, __ATOMIC_ACQUIRE);

	while (r->at < end) {
		const char *record = data + (r->at & (r->size - 1));
		/* Acquire: the record is complete when its flag "busy" is gone. */
		uint32_t head = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);

		r->record_size = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (head & BPF_RINGBUF_BUSY_BIT ||
		    ebpf_ring_record_room(r->record_size) > end - r->at)
			return NULL;
		if (!(head & BPF_RINGBUF_DISCARD_BIT)) {
			*ret_size = r->record_size;
			return record + BPF_RINGBUF_HDR_SZ;
		}
		ebpf_ring_consume(r);
	}
	return NULL;
}

void ebpf_ring_consume(struct ebpf_ring *r)
{
	r->at += ebpf_ring_record_room(r->record_size);
	/* Release: the record has been read before the kernel can see its space as free. */
	__atomic_store_n((unsigned long *)r->consumer, r->at, __ATOMIC_RELEASE);
}
