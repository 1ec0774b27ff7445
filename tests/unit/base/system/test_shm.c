/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "base/system/shm.h"
#include "base/text/str.h"
#include "unit/test.h"

#define SIZE (256u << 10)
#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

TEST(created_memory_is_zero_and_sealed)
{
	_cleanup_(closep) int fd = -1;
	char link[64], target[128] = "";
	void *addr = NULL;

	assert_int_equal(shm_create(SIZE, &fd, &addr), 0);
	for (size_t i = 0; i < SIZE; i++)
		assert_int_equal(((uint8_t *)addr)[i], 0);
	((uint8_t *)addr)[SIZE - 1] = 1;
	assert_int_equal(fcntl(fd, F_GET_SEALS), ALL_SEALS);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(ftruncate(fd, SIZE - 4096), -1);
	assert_int_equal(ftruncate(fd, SIZE + 4096), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, target, sizeof(target) - 1) > 0);
	assert_true(str_starts(target, "/memfd:perfetto_shmem"));
	shm_unmap(addr, SIZE);
}

TEST(impossible_sizes)
{
	void *addr = &addr;
	int fd = 77;

	assert_int_equal(shm_create(0, &fd, &addr), -EINVAL);
	assert_int_equal(shm_create(SIZE_MAX, &fd, &addr), -EFBIG);
	assert_true(shm_create((size_t)1 << 62, &fd, &addr) < 0);
	assert_int_equal(fd, 77);
	assert_ptr_equal(addr, &addr);
}

TEST(both_sides_see_the_same_bytes)
{
	_cleanup_(closep) int fd = -1;
	uint8_t *a = NULL, *b = NULL;
	size_t size = 0;
	int status;
	pid_t pid;

	assert_int_equal(shm_create(SIZE, &fd, (void **)&a), 0);
	assert_int_equal(shm_attach(fd, SIZE, (void **)&b, &size), 0);
	assert_int_equal(size, SIZE);
	assert_ptr_not_equal(a, b);
	closep(&fd);
	fd = -1;
	pid = fork();
	if (pid == 0) {
		strcpy((char *)b + 5000, "from the other process");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_string_equal((const char *)a + 5000, "from the other process");
	shm_unmap(a, SIZE);
	shm_unmap(b, SIZE);
}

static int memfd_of(size_t size, unsigned flags, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | flags);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void expect_attach(int fd, size_t max, int want)
{
	size_t size = 77;
	void *addr = &size;
	int r = shm_attach(fd, max, &addr, &size);

	assert_int_equal(r, want);
	if (r == 0) {
		shm_unmap(addr, size);
		return;
	}
	assert_ptr_equal(addr, &size);
	assert_int_equal(size, 77);
}

TEST(unsealed_memory_of_a_peer_is_refused)
{
	static const int seals[] = {0, F_SEAL_SHRINK, F_SEAL_GROW | F_SEAL_SEAL,
				    F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_SEAL};

	for (size_t i = 0; i < ARRAY_SIZE(seals); i++) {
		_cleanup_(closep) int fd = memfd_of(SIZE, MFD_ALLOW_SEALING, seals[i]);

		expect_attach(fd, SIZE, -EPERM);
	}
}

TEST(more_seals_than_needed_are_no_harm_but_against_writing)
{
	_cleanup_(closep) int fd = memfd_of(SIZE, MFD_ALLOW_SEALING, ALL_SEALS | F_SEAL_WRITE);

	expect_attach(fd, SIZE, -EPERM); /* mmap(2) says so */
}

TEST(huge_pages_of_a_peer_are_refused)
{
	_cleanup_(closep) int fd =
		memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	if (fd < 0 || ftruncate(fd, 2 << 20) < 0)
		skip(); /* the kernel has none */
	assert_int_equal(fcntl(fd, F_ADD_SEALS, ALL_SEALS), 0);
	expect_attach(fd, SIZE_MAX, -EPERM);
}

TEST(sizes_of_a_peers_memory)
{
	_cleanup_(closep) int empty = memfd_of(0, MFD_ALLOW_SEALING, ALL_SEALS);
	_cleanup_(closep) int fd = memfd_of(SIZE, MFD_ALLOW_SEALING, ALL_SEALS);

	expect_attach(empty, SIZE, -EINVAL);
	expect_attach(fd, SIZE - 1, -EFBIG);
	expect_attach(fd, SIZE, 0);
	expect_attach(fd, SIZE_MAX, 0);
}

TEST(what_is_no_memory_is_refused)
{
	_cleanup_(closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_cleanup_(closep) int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	expect_attach(-1, SIZE, -EPERM);
	expect_attach(null, SIZE, -EPERM);
	expect_attach(p[0], SIZE, -EPERM);
	expect_attach(file, SIZE_MAX, -EPERM);
	close(p[0]);
	close(p[1]);
}

TEST(unmapping_nothing_is_fine)
{
	shm_unmap(NULL, 0);
}
