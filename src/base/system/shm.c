/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/core/mem.h"

#define SHM_NAME "perfetto_shmem" /* what users look for in /proc/PID/maps */
/* The size and the seals are final: no process can add a seal against writing later. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int map_shared(int fd, size_t size, void **ret_addr)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (addr == MAP_FAILED)
		return -errno;
	*ret_addr = addr;
	return 0;
}

int shm_create(size_t size, int *ret_fd, void **ret_addr)
{
	_cleanup_(closep) int fd = -1;
	int r;

	if (size == 0)
		return -EINVAL;
	if (size > INT64_MAX)
		return -EFBIG;
	fd = memfd_create(SHM_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return -errno;
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	r = map_shared(fd, size, ret_addr);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Returns true if the peer cannot take pages of the memory away. Memory of huge pages can be sealed
 * too, but if the peer punches a hole into it and no huge page is free, a read there ends in
 * SIGBUS. */
static bool cannot_shrink(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	return seals >= 0 && (seals & SEALS) == SEALS && fstatfs(fd, &fs) == 0 &&
	       (unsigned long)fs.f_type == TMPFS_MAGIC;
}

int shm_attach(int fd, size_t max, void **ret_addr, size_t *ret_size)
{
	struct stat st;
	int r;

	if (!cannot_shrink(fd))
		return -EPERM;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0)
		return -EINVAL;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	r = map_shared(fd, (size_t)st.st_size, ret_addr);
	if (r < 0)
		return r;
	*ret_size = (size_t)st.st_size;
	return 0;
}

void shm_unmap(void *addr, size_t size)
{
	if (addr)
		munmap(addr, size);
}
