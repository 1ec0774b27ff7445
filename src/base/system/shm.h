/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Memory shared with another process through a descriptor (memfd). A process that maps memory of a
 * peer must be sure that it cannot shrink, or a read may end in SIGBUS: hence the seals.
 */

/* Creates zeroed memory of size bytes (not 0), mapped for reading and writing, with its size
 * sealed. The caller owns *ret_fd (close-on-exec) and *ret_addr. Returns 0 or -errno. */
int shm_create(size_t size, int *ret_fd, void **ret_addr);

/*
 * Maps the memory of a peer; the caller keeps fd and may close it afterwards. Returns 0, or
 *
 *	-EPERM    its size is not sealed (shrink, grow, seal), or it has huge pages, where a read
 *	          can still end in SIGBUS
 *	-EINVAL   empty
 *	-EFBIG    larger than max
 *	-errno    fd is not mappable, writable memory
 */
int shm_attach(int fd, size_t max, void **ret_addr, size_t *ret_size);

/* No-op for NULL. */
void shm_unmap(void *addr, size_t size);
