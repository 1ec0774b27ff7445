/* SPDX-License-Identifier: Apache-2.0 */
/* The process that opens files: it passes on a file only if it is the mapped one, or of the user. */
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/core/clock.h"
#include "stacks/files/file_messages.h"
#include "stacks/files/file_opener.h"
#include "unit/counted_children.h"
#include "unit/test.h"

static struct file_request request;

static void serve(int requests, int answers)
{
	file_opener_run(requests, answers, NULL);
}

static int setup(void **state)
{
	return child_start(serve);
}

/* Sends the request with n bytes of paths. Returns 0 or an errno; if ret_fd is not NULL, the caller
 * gets the descriptor that was passed on, or -1. */
static uint32_t open_requested(size_t n, int *ret_fd)
{
	_cleanup_(closep) int fd = -1;

	assert_int_equal(send(child.requests, &request, FILE_REQUEST_HEAD + n, 0),
			 FILE_REQUEST_HEAD + n);
	assert_int_equal(helper_receive(child.answers, &(struct iovec){&request, sizeof(request)},
					1, -1, &fd),
			 FILE_REQUEST_HEAD);
	assert_int_equal(request.n == 0, fd >= 0);
	if (ret_fd)
		*ret_fd = TAKE_FD(fd);
	return request.n;
}

/* Requests this program's file as one with that inode and device. Returns 0 or an errno. */
static uint32_t open_as(uint64_t inode, dev_t device)
{
	request = (struct file_request){.kind = FILE_REQUEST_ELF,
					.inode = inode,
					.major = major(device),
					.minor = minor(device)};
	assert_true(readlink("/proc/self/exe", request.path, sizeof(request.path) - 1) > 0);
	return open_requested(strlen(request.path) + 1, NULL);
}

TEST_WITH(a_file_has_the_inode_and_the_device_of_the_mapping, setup, child_end)
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
	return open_requested(0, NULL);
}

TEST_WITH(a_perf_map_is_of_the_user_and_younger_than_the_process, setup, child_end)
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
	/* The process has ended: the path is that of this process, unless it was in another
	 * namespace. */
	request.started = before;
	request.has_ended = 1;
	request.pid = request.pid_inside = getpid();
	assert_int_equal(open_requested(0, NULL), 0);
	request.pid_inside++;
	assert_int_equal(open_requested(0, NULL), ESRCH);
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

TEST_WITH(a_debug_file_is_the_first_regular_one_that_everybody_may_read, setup, child_end)
{
	static const char paths[] = "/tmp/no such file\0/dev/null\0/etc/passwd\0/etc";
	struct stat st;

	if (stat("/etc/passwd", &st) < 0 || !(st.st_mode & S_IROTH))
		skip();
	request = (struct file_request){.kind = FILE_REQUEST_DEBUG_FILE};
	memcpy(request.path, paths, sizeof(paths));
	assert_int_equal(open_requested(sizeof(paths), NULL), 0);
	request = (struct file_request){.kind = FILE_REQUEST_DEBUG_FILE, .path = "/dev/null"};
	assert_int_equal(open_requested(10, NULL), ESTALE);
	/* Seen from the process, too, and no path without its NUL. */
	request = (struct file_request){
		.kind = FILE_REQUEST_DEBUG_FILE, .pid = getpid(), .path = "/etc/passwd"};
	assert_int_equal(open_requested(12, NULL), 0);
	request = (struct file_request){.kind = FILE_REQUEST_DEBUG_FILE, .path = "/etc/passwd"};
	assert_int_equal(open_requested(11, NULL), ENOENT);
}

/* Fills the request with the mapping of an address, by the maps of this process. */
static void request_mapping(uint32_t kind, uintptr_t address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long long start, end, inode;
	char line[4096];

	assert_non_null(maps);
	request = (struct file_request){.kind = kind, .pid = getpid(), .uid = getuid()};
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %*s %x:%x %llu %4000s", &start, &end,
			   &request.major, &request.minor, &inode, request.path) == 6 &&
		    start <= address && address < end)
			break;
	fclose(maps);
	request.start = start;
	request.end = end;
	request.inode = inode;
}

/* Each of the two ways is enough: the mapping itself, which needs a capability, and the path. */
TEST_WITH(a_mapped_file_is_opened_by_its_mapping_or_by_its_path, setup, child_end)
{
	_cleanup_(closep) int fd = -1;
	struct stat own, st;

	assert_int_equal(stat("/proc/self/exe", &own), 0);
	request_mapping(FILE_REQUEST_ELF, (uintptr_t)request_mapping);
	assert_int_equal(open_requested(strlen(request.path) + 1, &fd), 0);
	assert_true(fstat(fd, &st) == 0 && st.st_ino == own.st_ino);
	request_mapping(FILE_REQUEST_ROWS, (uintptr_t)request_mapping);
	request.start = request.end = 0;
	assert_int_equal(open_requested(strlen(request.path) + 1, NULL), 0);
	request_mapping(FILE_REQUEST_ELF, (uintptr_t)request_mapping);
	strcpy(request.path, "/gone");
	if (geteuid() == 0)
		assert_int_equal(open_requested(6, NULL), 0);
	request_mapping(FILE_REQUEST_ELF, (uintptr_t)request_mapping);
	request.start = request.end = 0;
	strcpy(request.path, "/gone");
	assert_int_equal(open_requested(6, NULL), ENOENT);
}

/* A jitdump is the mapped file, belongs to the user, and is younger than the process. */
TEST_WITH(a_jitdump_is_trusted_as_a_perf_map_is, setup, child_end)
{
	char path[64];
	void *mapped;
	int fd;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	request_mapping(FILE_REQUEST_JITDUMP, (uintptr_t)mapped);
	assert_int_equal(open_requested(strlen(path) + 1, NULL), 0);
	request_mapping(FILE_REQUEST_JITDUMP, (uintptr_t)mapped);
	request.uid++;
	assert_int_equal(open_requested(strlen(path) + 1, NULL), EPERM);
	request_mapping(FILE_REQUEST_JITDUMP, (uintptr_t)mapped);
	request.inode++;
	assert_int_equal(open_requested(strlen(path) + 1, NULL), ESTALE);
	munmap(mapped, 4096);
	close(fd);
	unlink(path);
}

TEST_WITH(maps_are_those_of_the_thread_and_nothing_else_is_opened, setup, child_end)
{
	_cleanup_(closep) int fd = -1;
	char byte;

	request =
		(struct file_request){.kind = FILE_REQUEST_MAPS, .pid = getpid(), .tid = getpid()};
	assert_int_equal(open_requested(0, &fd), 0);
	assert_int_equal(read(fd, &byte, 1), 1);
	request = (struct file_request){.kind = FILE_REQUEST_MAPS, .pid = getpid(), .tid = 1};
	assert_int_equal(open_requested(0, NULL), ENOENT);
	request = (struct file_request){.kind = FILE_REQUEST_CLOSE_ALL + 1};
	assert_int_equal(open_requested(0, NULL), EINVAL);
	/* Requests for the second process are passed on as they are. */
	request = (struct file_request){.kind = FILE_REQUEST_NAMES, .n = 1, .addresses = {7}};
	assert_int_equal(send(child.requests, &request, FILE_REQUEST_HEAD + 8, 0),
			 FILE_REQUEST_HEAD + 8);
	request.addresses[0] = 0;
	assert_int_equal(recv(child.answers, &request, sizeof(request), 0), FILE_REQUEST_HEAD + 8);
	assert_int_equal(request.addresses[0], 7);
}
