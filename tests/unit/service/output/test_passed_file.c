/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/vfs.h>

#include "unit/test.h"
static int count_fstatfs(int fd, struct statfs *ret);
#define fstatfs(fd, ret) count_fstatfs(fd, ret)
#include "service/output/passed_file.c"
#undef fstatfs

static unsigned asked; /* file systems */

static int count_fstatfs(int fd, struct statfs *ret)
{
	asked++;
	return fstatfs(fd, ret);
}

static int check_and_close(int fd)
{
	struct err_text e;
	int r = passed_file_check(fd, 4242, &e);

	assert_true(fd >= 0);
	if (r < 0)
		assert_non_null(strstr(e.text, "neither a regular file nor a pipe"));
	close(fd);
	return r;
}

TEST(files_and_pipes_are_good)
{
	int fds[2];

	assert_int_equal(check_and_close(memfd_create("file", 0)), 0);
	assert_int_equal(check_and_close(open("/dev/null", O_WRONLY)), 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(check_and_close(fds[0]), 0);
	assert_int_equal(check_and_close(fds[1]), 0);
}

TEST(anything_else_is_refused)
{
	assert_int_equal(check_and_close(socket(AF_UNIX, SOCK_DGRAM, 0)), -EINVAL);
	assert_int_equal(check_and_close(socket(AF_INET, SOCK_STREAM, 0)), -EINVAL);
	assert_int_equal(check_and_close(eventfd(0, 0)), -EINVAL);
	assert_int_equal(check_and_close(open("/dev/zero", O_RDWR)), -EINVAL);
	assert_int_equal(check_and_close(open("/", O_RDONLY | O_DIRECTORY)), -EINVAL);
}

/* The service sees mounts where the file's device has this type; NULL: has no mount. */
static int check_file_of(const char *type, uid_t user)
{
	int fd = memfd_create("file", 0), r;
	struct err_text e;
	struct statx st;

	assert_int_equal(passed_file_stat(fd, &st), 0);
	mountinfo = memfd_create("mountinfo", 0);
	dprintf(mountinfo, "21 20 0:99999 / /x rw - fuse.other server rw\n");
	if (type)
		dprintf(mountinfo, "36 35 %u:%u / /mnt rw,nosuid shared:1 - %s server: rw\n",
			st.stx_dev_major, st.stx_dev_minor, type);
	asked = 0;
	r = passed_file_check(fd, user, &e);
	close(mountinfo);
	mountinfo = -1;
	close(fd);
	return r;
}

/* Its server, which may not answer, is not asked. */
TEST(a_file_of_a_mount_is_checked_without_its_file_system)
{
	assert_int_equal(check_file_of("fuse.sshfs", 4242), -EINVAL);
	assert_int_equal(check_file_of("fuse", 4242), -EINVAL);
	assert_int_equal(check_file_of("fuse", 0), 0);
	assert_int_equal(check_file_of("nfs4", 4242), 0);
	assert_int_equal(asked, 0);
	assert_int_equal(check_file_of(NULL, 4242), 0);
	assert_int_equal(asked, 1);
}

/* A path in mountinfo has up to PATH_MAX bytes, and more with escapes. */
TEST(a_line_of_the_list_of_mounts_may_be_long)
{
	int fd = memfd_create("file", 0);
	char path[3 * PATH_MAX];
	struct statx st;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(passed_file_stat(fd, &st), 0);
	mountinfo = memfd_create("mountinfo", 0);
	dprintf(mountinfo, "36 35 %u:%u / /%s rw shared:1 - fuse.sshfs server: rw\n",
		st.stx_dev_major, st.stx_dev_minor, path);
	assert_int_equal(mount_is_of_fuse(&st), 1);
	close(mountinfo);
	mountinfo = -1;
	close(fd);
}

TEST(the_list_of_mounts_is_read_again_for_each_file)
{
	struct statx st;
	int fd;

	assert_int_equal(passed_file_start(), 0);
	fd = open(".", O_RDONLY);
	assert_int_equal(passed_file_stat(fd, &st), 0);
	assert_int_equal(mount_is_of_fuse(&st), mount_is_of_fuse(&st));
	close(fd);
	fd = open("/proc/self/stat", O_RDONLY);
	assert_int_equal(passed_file_stat(fd, &st), 0);
	assert_int_equal(mount_is_of_fuse(&st), 0);
	assert_int_equal(mount_is_of_fuse(&st), 0);
	close(fd);
	close(mountinfo);
	mountinfo = -1;
}
