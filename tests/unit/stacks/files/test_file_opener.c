/* SPDX-License-Identifier: Apache-2.0 */
/* The process that opens mapped files: it passes on a file only if it is the mapped one. */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/core/clock.h"
#include "stacks/files/file_messages.h"
#include "stacks/files/file_opener.h"
#include "unit/test.h"

static pid_t opener;
static int requests = -1, opened = -1;
static struct file_request request;

static int setup(void **state)
{
	int ask[2], pass[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ask) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pass) < 0)
		return -1;
	opener = fork();
	if (opener == 0) {
		struct file_opener_ctx ctx = {.next = pass[1]};

		close(ask[0]);
		close(pass[0]);
		file_opener_run(ask[1], &ctx);
	}
	close(ask[1]);
	close(pass[1]);
	requests = ask[0];
	opened = pass[0];
	return 0;
}

static int teardown(void **state)
{
	int status;

	close(requests);
	close(opened);
	return waitpid(opener, &status, 0) == opener && WIFEXITED(status) ? 0 : -1;
}

/* Requests this program's file as one with that inode and device. Returns 0 or an errno. */
static uint32_t open_as(uint64_t inode, dev_t device)
{
	size_t len;

	request = (struct file_request){.kind = FILE_REQUEST_ELF,
					.inode = inode,
					.major = major(device),
					.minor = minor(device)};
	assert_true(readlink("/proc/self/exe", request.path, sizeof(request.path) - 1) > 0);
	len = FILE_REQUEST_HEAD + strlen(request.path) + 1;
	assert_int_equal(send(requests, &request, len, 0), len);
	assert_int_equal(recv(opened, &request, sizeof(request), 0), FILE_REQUEST_HEAD);
	return request.n;
}

TEST_WITH(a_file_has_the_inode_and_the_device_of_the_mapping, setup, teardown)
{
	struct stat st;
	struct statfs fs;

	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_int_equal(statfs("/proc/self/exe", &fs), 0);
	assert_int_equal(open_as(st.st_ino, st.st_dev), 0);
	assert_int_equal(open_as(st.st_ino + 1, st.st_dev), ESTALE);
	if (fs.f_type == 0x794c7630 || fs.f_type == 0x9123683e)
		skip(); /* overlayfs, btrfs */
	assert_int_equal(open_as(st.st_ino, st.st_dev + 1), ESTALE);
}

/* Requests this process' perf map as one of a process of that user which began then. */
static uint32_t open_map_as(uint32_t uid, uint64_t started)
{
	request = (struct file_request){.kind = FILE_REQUEST_PERF_MAP,
					.pid = getpid(),
					.pid_inside = getpid(),
					.uid = uid,
					.started = started};
	assert_int_equal(send(requests, &request, FILE_REQUEST_HEAD, 0), FILE_REQUEST_HEAD);
	assert_int_equal(recv(opened, &request, sizeof(request), 0), FILE_REQUEST_HEAD);
	return request.n;
}

TEST_WITH(a_perf_map_is_of_the_user_and_younger_than_the_process, setup, teardown)
{
	uint64_t now = clock_ns(CLOCK_REALTIME), before = now - NS_PER_S;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	assert_int_equal(open_map_as(getuid(), before), ENOENT);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(open_map_as(getuid(), before), 0);
	assert_int_equal(open_map_as(getuid() + 1, before), EPERM);
	/* That of an earlier process with this pid. */
	assert_int_equal(open_map_as(getuid(), now + 60 * NS_PER_S), EPERM);
	assert_int_equal(ftruncate(fd, 2ll << 30), 0);
	assert_int_equal(open_map_as(getuid(), before), EPERM);
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(open_map_as(getuid(), before), EPERM);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(open_map_as(getuid(), before), EPERM);
	unlink(path);
	close(fd);
}

TEST_WITH(a_debug_file_is_the_first_regular_one_that_everybody_may_read, setup, teardown)
{
	static const char paths[] = "/tmp/no such file\0/dev/null\0/etc/passwd\0/etc";
	size_t len = FILE_REQUEST_HEAD + sizeof(paths);
	struct stat st;

	if (stat("/etc/passwd", &st) < 0 || !(st.st_mode & S_IROTH))
		skip();
	request = (struct file_request){.kind = FILE_REQUEST_DEBUG_FILE};
	memcpy(request.path, paths, sizeof(paths));
	assert_int_equal(send(requests, &request, len, 0), len);
	assert_int_equal(recv(opened, &request, sizeof(request), 0), FILE_REQUEST_HEAD);
	assert_int_equal(request.n, 0);
	request = (struct file_request){.kind = FILE_REQUEST_DEBUG_FILE, .path = "/dev/null"};
	assert_int_equal(send(requests, &request, FILE_REQUEST_HEAD + 10, 0),
			 FILE_REQUEST_HEAD + 10);
	assert_int_equal(recv(opened, &request, sizeof(request), 0), FILE_REQUEST_HEAD);
	assert_int_equal(request.n, ESTALE);
}
