/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads a BPF ring buffer record by record. A record stays in the ring until the reader consumes
 * it, so a reader that has to wait leaves it there. (libbpf's ring_buffer hands out all records at
 * once.)
 *
 *	ebpf_ring_peek       returns the next record, or NULL
 *	ebpf_ring_consume    advances to the record after it
 *
 * The descriptor of the map is readable when a program has woken its readers. It has to be watched
 * edge-triggered: it is readable as long as there are records.
 */
struct ebpf_ring {
	size_t size; /* bytes of data, a power of two */
	void *consumer; /* owned: a page with the position of the reader, shared with the kernel */
	void *producer; /* owned: a page with that of the kernel, and the data twice */
	uint64_t at;
	uint32_t record_size; /* of the record that was peeked */
};

/* Maps the ring. size: bytes of data, the max_entries of the map. fd may be a negative errno, which
 * is returned. Returns 0 or -errno. Zero-initialise; call deinit also after an error. */
int ebpf_ring_init(struct ebpf_ring *r, int fd, size_t size);
void ebpf_ring_deinit(struct ebpf_ring *r);
/* Returns the next record, aligned to 8 bytes, and its size; NULL: there is no complete one. */
const void *ebpf_ring_peek(struct ebpf_ring *r, uint32_t *ret_size);
/* Gives the space of the peeked record back to the kernel. */
void ebpf_ring_consume(struct ebpf_ring *r);
