/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Holds the locks that the kernel takes for a write(2) into a file or a pipe: that of the file, and
 * that of the offset of the descriptor. A thread of this process writes a page that comes only when
 * the test wants it, as a page of FUSE comes when its server wants it. userfaultfd(2) makes such a
 * page for root. */
struct held_locks {
	int faults, fd;
	char *page;
	pthread_t thread;
};

#define HELD_BYTES 4096

static inline void *held_locks_write(void *ctx)
{
	const struct held_locks *h = ctx;

	return (void *)(intptr_t)write(h->fd, h->page, HELD_BYTES);
}

/* Returns false if this process may not have such a page. */
static inline bool held_locks_take(struct held_locks *h, int fd)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct pollfd fault;

	h->fd = fd;
	/* poll(2) waits for a fault only without blocking reads. */
	h->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (h->faults < 0)
		return false;
	h->page =
		mmap(NULL, HELD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)h->page;
	range.range.len = HELD_BYTES;
	fault = (struct pollfd){.fd = h->faults, .events = POLLIN};
	return ioctl(h->faults, UFFDIO_API, &api) == 0 &&
	       ioctl(h->faults, UFFDIO_REGISTER, &range) == 0 &&
	       pthread_create(&h->thread, NULL, held_locks_write, h) == 0 &&
	       poll(&fault, 1, -1) == 1 && fault.revents == POLLIN;
}

/* Returns true if the write succeeded then. */
static inline bool held_locks_release(struct held_locks *h)
{
	struct uffdio_zeropage page = {.range = {(uintptr_t)h->page, HELD_BYTES}};
	void *written = NULL;
	bool good = ioctl(h->faults, UFFDIO_ZEROPAGE, &page) == 0 &&
		    pthread_join(h->thread, &written) == 0 && (intptr_t)written == HELD_BYTES;

	munmap(h->page, HELD_BYTES);
	close(h->faults);
	return good;
}
