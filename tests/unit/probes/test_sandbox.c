/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/capability.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/system/fs.h"
#include "base/system/landlock.h"
#include "base/system/outside_reads.h"
#include "base/system/sanitizer.h"
#include "probes/sandbox.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static char tracefs[512], state_dir[512], elsewhere[512];
static bool has_landlock; /* the sandbox does not allow to ask for it */

static bool can_make(const char *dir)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/new", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	close(fd);
	return unlink(path) == 0;
}

/* What is given up is gone, so in a process of its own. */
static void in_sandbox(void **state, bool (*run)(void))
{
	struct err_text e = {""};
	int status;
	pid_t child;

	if (BUILT_WITH_SANITIZER)
		skip();
	snprintf(tracefs, sizeof(tracefs), "%s", temp_dir_path(state, 0, "tracefs"));
	snprintf(state_dir, sizeof(state_dir), "%s", temp_dir_path(state, 0, "state"));
	snprintf(elsewhere, sizeof(elsewhere), "%s", temp_dir_path(state, 0, "elsewhere"));
	assert_int_equal(mkdir(tracefs, 0700) | mkdir(elsewhere, 0700), 0);
	has_landlock = landlock_is_there();
	child = fork();
	if (child == 0) {
		const struct sandbox_paths paths = {tracefs, state_dir};

		_exit(sandbox_enter(&paths, &e) == 0 && run() ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool writes_nowhere_else(void)
{
	char file[600];

	if (!can_make(tracefs) || !can_make(state_dir))
		return false;
	if (!has_landlock)
		return true;
	snprintf(file, sizeof(file), "%s/file", elsewhere);
	return !can_make(elsewhere) && errno == EACCES && mkdir(file, 0700) < 0 &&
	       errno == EACCES && open("/dev/null", O_WRONLY) < 0 && errno == EACCES &&
	       open("/proc/self/comm", O_WRONLY) < 0 && open("/proc/self/comm", O_RDONLY) >= 0;
}

#define IN_DIR(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

IN_DIR(files_change_in_tracefs_and_the_state_dir_only)
{
	in_sandbox(state, writes_nowhere_else);
}

/* A Landlock domain may not: but for the child that it has outside. */
static bool reads_io_of_its_parent(void)
{
	char path[64], text[OUTSIDE_READ_MAX], link[64];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)getppid());
	n = outside_read(path, text, sizeof(text), OUTSIDE_READ_LONG_MS);
	if (n <= 0 || !memmem(text, (size_t)n, "rchar: ", 7))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)getppid());
	return outside_readlink(path, link, sizeof(link), OUTSIDE_READ_LONG_MS) > 0 &&
	       outside_stat(path, &st) == 0 &&
	       outside_read("/proc/self/nothing", text, sizeof(text), OUTSIDE_READ_LONG_MS) ==
		       -ENOENT;
}

IN_DIR(what_needs_ptrace_is_read_all_the_same)
{
	in_sandbox(state, reads_io_of_its_parent);
}

static bool starts_nothing(void)
{
	char *const argv[] = {(char *)"/bin/true", NULL};

	return execv(argv[0], argv) < 0 && errno == EPERM && fork() < 0 && errno == EPERM &&
	       mount("none", "/mnt", "tmpfs", 0, NULL) < 0 && errno == EPERM &&
	       kill(getppid(), SIGTERM) < 0 && errno == EPERM && kill(getppid(), 0) == 0 &&
	       mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) == MAP_FAILED &&
	       errno == EPERM && syscall(SYS_ptrace, 0, 0, 0, 0) < 0 && errno == EPERM;
}

IN_DIR(no_process_no_program_no_mount)
{
	in_sandbox(state, starts_nothing);
}

static void *nothing(void *arg)
{
	return arg;
}

static bool has_threads_and_sockets(void)
{
	pthread_t thread;
	void *back = NULL;

	return pthread_create(&thread, NULL, nothing, NULL) == 0 &&
	       pthread_join(thread, &back) == 0 && !back && socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

IN_DIR(threads_and_sockets_work)
{
	in_sandbox(state, has_threads_and_sockets);
}

/* Of /proc/self/status, in hexadecimal. */
static uint64_t effective(void)
{
	struct strbuf b = {0};
	uint64_t caps = UINT64_MAX;
	const char *at;

	if (fs_read_file("/proc/thread-self/status", 1 << 16, &b) == 0 &&
	    (at = strstr(b.s, "CapEff:")))
		caps = strtoull(at + strlen("CapEff:"), NULL, 16);
	strbuf_deinit(&b);
	return caps;
}

static bool has_what_is_wanted(void)
{
	const uint64_t some = 1ull << CAP_SYSLOG | 1ull << CAP_SYS_PTRACE;

	if (effective() != 0)
		return false;
	sandbox_set_capabilities(some | 1ull << CAP_SYS_BOOT);
	if (effective() != (geteuid() == 0 ? some : 0))
		return false;
	sandbox_set_capabilities(0);
	return effective() == 0;
}

IN_DIR(capabilities_are_effective_only_while_they_are_wanted)
{
	in_sandbox(state, has_what_is_wanted);
}
