/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: file_ways DIR [MEGABYTES]
 *
 * What it costs to take a trace out of shared memory, through a buffer, into a file of DIR, by
 * each of the ways that the kernel has. CPU time for each MB, the best of 5. A chunk has 32 KB;
 * every 8 KB of it are a packet, in front of which 4 bytes are written, and behind it 12.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"

#define SHARED (2u << 20)
#define CHUNK (32u << 10)
#define PACKET (8u << 10)
#define HEAD 4
#define TAIL 12
#define HUGE ((size_t)2 << 20)

static uint8_t *shared, *ring, *copy;
static size_t ring_size, total;
static int out, pipes[2];

static void must(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "file_ways: %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

/* ---- out of the ring ---- */

struct parts {
	struct iovec iov[3 * 64];
	int n;
	size_t len;
};

static const uint8_t frame[HEAD + TAIL];

static void gather(struct parts *p, const uint8_t *from, size_t len)
{
	p->n = 0;
	p->len = 0;
	for (size_t at = 0; at < len && p->n + 3 <= 3 * 64; at += PACKET) {
		p->iov[p->n++] = (struct iovec){(void *)frame, HEAD};
		p->iov[p->n++] = (struct iovec){(void *)(from + at), PACKET};
		p->iov[p->n++] = (struct iovec){(void *)(frame + HEAD), TAIL};
		p->len += HEAD + PACKET + TAIL;
	}
}

static void by_copy(const uint8_t *from, size_t len)
{
	struct parts p;
	uint8_t *to = copy;

	gather(&p, from, len);
	for (int i = 0; i < p.n; i++) {
		memcpy(to, p.iov[i].iov_base, p.iov[i].iov_len);
		to += p.iov[i].iov_len;
	}
	must(write(out, copy, p.len) == (ssize_t)p.len, "write");
}

static void by_writev(const uint8_t *from, size_t len)
{
	struct parts p;

	gather(&p, from, len);
	must(writev(out, p.iov, p.n) == (ssize_t)p.len, "writev");
}

/* Takes n bytes from the front of what is left. */
static void advance(struct iovec **v, int *n, size_t len)
{
	for (; *n > 0 && len >= (*v)->iov_len; (*v)++, (*n)--)
		len -= (*v)->iov_len;
	if (len) {
		(*v)->iov_base = (uint8_t *)(*v)->iov_base + len;
		(*v)->iov_len -= len;
	}
}

static void by_splice(const uint8_t *from, size_t len)
{
	struct parts p;
	struct iovec *v = p.iov;
	ssize_t got, moved;

	gather(&p, from, len);
	while (p.n > 0) {
		got = vmsplice(pipes[1], v, (size_t)p.n, SPLICE_F_NONBLOCK);
		must(got > 0, "vmsplice");
		advance(&v, &p.n, (size_t)got);
		for (; got > 0; got -= moved) {
			moved = splice(pipes[0], NULL, out, NULL, (size_t)got, 0);
			must(moved > 0, "splice");
		}
	}
}

/* ---- io_uring, without a library ---- */

static struct {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	uint64_t at;
	unsigned busy;
} u;

static bool uring_init(void)
{
	struct io_uring_params p = {0};
	uint8_t *sq;

	u.fd = (int)syscall(SYS_io_uring_setup, 8, &p);
	if (u.fd < 0)
		return false;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4 + p.cq_off.cqes + p.cq_entries * 16,
		  PROT_READ | PROT_WRITE, MAP_SHARED, u.fd, IORING_OFF_SQ_RING);
	u.sqes = mmap(NULL, p.sq_entries * sizeof(*u.sqes), PROT_READ | PROT_WRITE, MAP_SHARED,
		      u.fd, IORING_OFF_SQES);
	u.sq_tail = (void *)(sq + p.sq_off.tail);
	u.sq_mask = (void *)(sq + p.sq_off.ring_mask);
	u.sq_array = (void *)(sq + p.sq_off.array);
	u.cq_head = (void *)(sq + p.cq_off.head);
	u.cq_tail = (void *)(sq + p.cq_off.tail);
	u.cq_mask = (void *)(sq + p.cq_off.ring_mask);
	u.cqes = (void *)(sq + p.cq_off.cqes);
	return sq != MAP_FAILED && u.sqes != MAP_FAILED;
}

static void by_uring(const uint8_t *from, size_t len)
{
	static struct parts p; /* until it is done */
	unsigned i = *u.sq_tail & *u.sq_mask;
	struct io_uring_cqe *c;

	gather(&p, from, len);
	u.sqes[i] = (struct io_uring_sqe){.opcode = IORING_OP_WRITEV,
					  .fd = out,
					  .addr = (uint64_t)(uintptr_t)p.iov,
					  .len = (unsigned)p.n,
					  .off = u.at};
	u.at += p.len;
	u.sq_array[i] = i;
	__atomic_store_n(u.sq_tail, *u.sq_tail + 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, u.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) >= 0,
	     "io_uring");
	c = &u.cqes[*u.cq_head & *u.cq_mask];
	must(c->res == (int)p.len, "io_uring write");
	__atomic_store_n(u.cq_head, *u.cq_head + 1, __ATOMIC_RELEASE);
}

/* ---- the file as memory ---- */

static uint64_t map_at;

static void by_map(const uint8_t *from, size_t len)
{
	static uint8_t *window;
	static uint64_t window_at = UINT64_MAX;
	struct parts p;

	gather(&p, from, len);
	if (map_at + p.len > window_at + (4u << 20) || window_at == UINT64_MAX ||
	    map_at < window_at) {
		if (window)
			munmap(window, 8u << 20);
		window_at = map_at & ~(uint64_t)4095;
		must(ftruncate(out, (off_t)(window_at + (8u << 20))) == 0, "ftruncate");
		window = mmap(NULL, 8u << 20, PROT_READ | PROT_WRITE, MAP_SHARED, out,
			      (off_t)window_at);
		must(window != MAP_FAILED, "mmap");
	}
	for (int i = 0; i < p.n; i++) {
		memcpy(window + (map_at - window_at), p.iov[i].iov_base, p.iov[i].iov_len);
		map_at += p.iov[i].iov_len;
	}
}

/* ---- all of it ---- */

enum memory { SMALL, HUGE_PAGES, POPULATED };

struct way {
	const char *name;
	void (*write)(const uint8_t *from, size_t len);
	size_t batch; /* 0: all that there is, at the end */
	enum memory memory;
	bool no_ring; /* from the shared memory itself, which is not safe */
};

static void make_ring(enum memory kind, size_t size)
{
	ring_size = size;
	ring = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			    (kind == POPULATED ? MAP_POPULATE : 0),
		    -1, 0);
	must(ring != MAP_FAILED, "mmap");
	ring += -(uintptr_t)ring & (HUGE - 1);
	if (kind == HUGE_PAGES)
		madvise(ring, size, MADV_HUGEPAGE);
	else
		madvise(ring, size, MADV_NOHUGEPAGE);
}

static uint64_t cpu_ns(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return ((uint64_t)r.ru_utime.tv_sec + (uint64_t)r.ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)r.ru_utime.tv_usec + (uint64_t)r.ru_stime.tv_usec) * 1000;
}

static void write_all(const struct way *w, const uint8_t *from, size_t len)
{
	for (size_t at = 0; at < len; at += 256u << 10)
		w->write(from + at, MIN(len - at, (size_t)256 << 10));
}

static double run(const struct way *w, const char *dir)
{
	char path[4096];
	uint64_t start;
	size_t filled = 0;

	snprintf(path, sizeof(path), "%s/file_ways.%d", dir, (int)getpid());
	out = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(out >= 0, path);
	u.at = map_at = 0;
	memset(shared, 1, SHARED); /* as its writer leaves it */
	start = cpu_ns();
	make_ring(w->memory, w->batch ? 64u << 20 : total);
	for (size_t done = 0; done < total; done += CHUNK) {
		const uint8_t *chunk = shared + done % SHARED;

		if (w->no_ring) {
			w->write(chunk, CHUNK);
			continue;
		}
		memcpy(ring + filled, chunk, CHUNK);
		filled += CHUNK;
		if (w->batch && filled == w->batch) {
			write_all(w, ring, filled);
			filled = 0;
		}
	}
	write_all(w, ring, filled);
	munmap(ring, ring_size);
	start = cpu_ns() - start;
	close(out);
	unlink(path);
	return (double)start / 1e3 / (double)(total >> 20);
}

int main(int argc, char **argv)
{
	static const struct way ways[] = {
		{"all at the end, copied, write(2)", by_copy, 0, SMALL, false},
		{"all at the end, writev(2)", by_writev, 0, SMALL, false},
		{"the same, huge pages", by_writev, 0, HUGE_PAGES, false},
		{"the same, MAP_POPULATE", by_writev, 0, POPULATED, false},
		{"each 8 MB, from the start again, writev(2)", by_writev, 8u << 20, SMALL, false},
		{"each 1 MB", by_writev, 1u << 20, SMALL, false},
		{"each 256 KB", by_writev, 256u << 10, SMALL, false},
		{"each 256 KB, copied, write(2)", by_copy, 256u << 10, SMALL, false},
		{"each 64 KB", by_writev, 64u << 10, SMALL, false},
		{"each 256 KB, vmsplice(2) and splice(2)", by_splice, 256u << 10, SMALL, false},
		{"each 256 KB, io_uring", by_uring, 256u << 10, SMALL, false},
		{"each 256 KB, the file in memory (mmap)", by_map, 256u << 10, SMALL, false},
		{"from the shared memory itself (unsafe: the floor)", by_writev, 0, SMALL, true},
	};
	const char *dir = argc > 1 ? argv[1] : "/tmp";
	bool uring = uring_init();

	total = (argc > 2 ? strtoul(argv[2], NULL, 10) : 128) << 20;
	shared = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	copy = malloc(1 << 20);
	must(shared != MAP_FAILED && copy && pipe(pipes) == 0, "memory");
	fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20);
	memset(copy, 1, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		double best = 0;

		if (ways[i].write == by_uring && !uring) {
			printf("%-52s not on this kernel\n", ways[i].name);
			continue;
		}
		for (int k = 0; k < 5; k++) {
			double us = run(&ways[i], dir);

			best = best == 0 || us < best ? us : best;
		}
		printf("%-52s %6.0f us a MB\n", ways[i].name, best);
		fflush(stdout);
	}
	return 0;
}
