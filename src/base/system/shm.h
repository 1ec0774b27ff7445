/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Memory shared with another process through a descriptor (memfd). Whoever maps memory of a peer
 * must know that it cannot shrink, or a read of it may end in SIGBUS: hence the seals.
 */

/*
 * A new, zeroed memory of size bytes (not 0), mapped for reading and writing; its size is sealed
 * for good. *ret_fd (close-on-exec) and *ret_addr are the caller's. Returns 0 or -errno.
 */
int shm_create(size_t size, int *ret_fd, void **ret_addr);

/*
 * Maps the memory of a peer; fd stays the caller's and may be closed afterwards. 0, or
 *
 *	-EPERM    its size is not sealed (shrink, grow, seal), or it is of huge pages, where a read
 *	          can end in SIGBUS all the same
 *	-EINVAL   empty
 *	-EFBIG    larger than max
 *	-errno    no descriptor of mappable, writable memory
 */
int shm_attach(int fd, size_t max, void **ret_addr, size_t *ret_size);

/* No-op for NULL. */
void shm_unmap(void *addr, size_t size);
