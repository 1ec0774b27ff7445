/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/system/caps.h"
#include "base/system/landlock.h"
#include "base/system/sanitizer.h"
#include "service/sandbox.h"
#include "unit/test.h"

/* What is given up is gone, so in a process of its own. */
static bool in_sandbox(bool (*run)(void))
{
	pid_t child = fork();
	struct err_text e;
	int status;

	if (child == 0)
		_exit(sandbox_enter(&e) == 0 && run() ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status == 0;
}

static bool no_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) < 0;
}

/* As far as the hard limits go. */
static bool priority_as_the_limits_say(void)
{
	struct rlimit nice_limit, rt;
	int best;

	if (getrlimit(RLIMIT_NICE, &nice_limit) < 0 || getrlimit(RLIMIT_RTPRIO, &rt) < 0)
		return false;
	best = 20 - (int)(nice_limit.rlim_cur < 40 ? nice_limit.rlim_cur : 40);
	if (best < getpriority(PRIO_PROCESS, 0) && setpriority(PRIO_PROCESS, 0, best) < 0)
		return false;
	if (rt.rlim_cur > 0) {
		const struct sched_param param = {.sched_priority = 1};

		if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
			return false;
	}
	return nice_limit.rlim_cur == nice_limit.rlim_max && rt.rlim_cur == rt.rlim_max;
}

/* Of this process; of another one (the parent) not, whatever the limits are. */
static bool priority_of_itself_only(void)
{
	const struct sched_param param = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		return false;
	return sched_setscheduler(getppid(), SCHED_FIFO, &param) < 0 &&
	       setpriority(PRIO_PROCESS, (id_t)getppid(), 5) < 0 &&
	       sched_getscheduler(getppid()) == SCHED_OTHER;
}

static bool has_landlock;

/* Landlock, and the filter of system calls. */
static bool no_files(void)
{
	int here = memfd_create("here", 0), root = open("/", O_PATH);
	bool reads = open("/etc/passwd", O_RDONLY) >= 0;

	return reads != has_landlock && open("/tmp/sonda-test-never", O_RDWR | O_CREAT, 0600) < 0 &&
	       errno == EPERM && open("/dev/null", O_WRONLY) < 0 && errno == EPERM &&
	       openat(root, "tmp/sonda-test-never", O_WRONLY | O_CREAT, 0600) < 0 &&
	       errno == EPERM && unlink("/tmp/sonda-test-never") < 0 && errno == EPERM &&
	       fchmod(here, 0666) < 0 && errno == EPERM && fchown(here, 1, 1) < 0 &&
	       errno == EPERM && mkdir("/tmp/sonda-test-never", 0700) < 0 && errno == EPERM &&
	       rename("/tmp/sonda-test-never", "/tmp/x") < 0 && errno == EPERM &&
	       ftruncate(here, 10) == 0;
}

static bool no_root(void)
{
	return getuid() != 0 && geteuid() != 0 && getgid() != 0 && getegid() != 0 && setuid(0) < 0;
}

/* Its parent has requested a signal, which a change of user makes the kernel forget. */
static bool end_with_the_parent(void)
{
	int signal_number = 0;

	return prctl(PR_GET_PDEATHSIG, &signal_number) == 0 && signal_number == SIGTERM;
}

TEST(no_file_is_opened_or_made)
{
	if (BUILT_WITH_SANITIZER)
		skip();
	has_landlock = landlock_is_there();
	assert_true(in_sandbox(no_files));
}

TEST(root_is_given_up)
{
	if (BUILT_WITH_SANITIZER || geteuid() != 0)
		skip();
	assert_true(in_sandbox(no_root));
}

TEST(it_still_ends_with_its_parent)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(caps_change_user(65534, 65534) <= 0 && end_with_the_parent() ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST(there_are_no_new_sockets)
{
	if (BUILT_WITH_SANITIZER)
		skip();
	assert_true(in_sandbox(no_socket));
}

TEST(priority_boost_needs_no_capability)
{
	if (BUILT_WITH_SANITIZER)
		skip();
	assert_true(in_sandbox(priority_as_the_limits_say));
}

/* With the limits raised, or with the capability: root in a container may have only that. */
TEST(a_process_that_may_has_real_time)
{
	const struct sched_param fifo = {.sched_priority = 1}, none = {0};

	if (BUILT_WITH_SANITIZER || sched_setscheduler(0, SCHED_FIFO, &fifo) < 0)
		skip();
	sched_setscheduler(0, SCHED_OTHER, &none);
	assert_true(in_sandbox(priority_of_itself_only));
}

TEST(a_build_with_a_sanitizer_stays_as_it_is)
{
	if (!BUILT_WITH_SANITIZER)
		skip();
	assert_false(in_sandbox(no_socket));
}
