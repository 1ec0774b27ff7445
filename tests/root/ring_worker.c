/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_worker N: reads 64 MiB of zeros N times by a worker of io_uring, a thread of the kernel that has the memory of this
 * process. Exits with 77 if there is no io_uring.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE (64u << 20)

int main(int argc, char **argv)
{
	struct io_uring_params p = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p), zero = open("/dev/zero", O_RDONLY);
	char *sq, *bytes;
	struct io_uring_sqe *sqe;

	if (ring < 0)
		return 77;
	/* Both rings are in one mapping (IORING_FEAT_SINGLE_MMAP, Linux 5.4). */
	sq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		   IORING_OFF_SQES);
	bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		     -1, 0);
	if (sq == MAP_FAILED || sqe == MAP_FAILED || bytes == MAP_FAILED || zero < 0)
		return 1;
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 10); i++) {
		uint32_t *tail = (uint32_t *)(sq + p.sq_off.tail);
		uint32_t *done = (uint32_t *)(sq + p.cq_off.head);

		sqe[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
					       .flags = IOSQE_ASYNC,
					       .fd = zero,
					       .addr = (uint64_t)bytes,
					       .len = SIZE};
		((uint32_t *)(sq + p.sq_off.array))[*tail & (p.sq_entries - 1)] = 0;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return 1;
		__atomic_store_n(done, *done + 1, __ATOMIC_RELEASE);
	}
	return 0;
}
