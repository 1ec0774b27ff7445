/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/background_close.h"
#include "base/system/caps.h"
#include "base/system/landlock.h"
#include "base/system/log.h"
#include "base/system/sanitizer.h"
#include "base/system/syscall_filter.h"

#define RLIMIT_NICE_MOST 40 /* nice -20 */
#define RLIMIT_RTPRIO_MOST 99

/* The system calls for connections, shared memory, the files of sessions (which other processes
 * open), and the end of the file helper. */
static const char *const own_calls[] = {
	"accept",	"accept4",  "fdatasync", "ftruncate", "ftruncate64",
	"memfd_create", "pwritev2", "wait4",	 NULL,
};

/* The service runs as the first of these users that exists. */
static const char *const own_users[] = {"sonda", "nobody"};
#define NOBODY 65534

/* Raises the limit to n or, if that is not permitted, to the hard limit. Returns true if the limit
 * is then n or more. */
static bool raise_limit(__rlimit_resource_t which, rlim_t n)
{
	struct rlimit l = {n, n};

	if (setrlimit(which, &l) == 0)
		return true;
	if (getrlimit(which, &l) < 0)
		return false;
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(which, &l);
	return l.rlim_max >= n;
}

static void find_user(uid_t *ret_uid, gid_t *ret_gid)
{
	const struct passwd *p = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(own_users) && !p; i++)
		p = getpwnam(own_users[i]);
	*ret_uid = p && p->pw_uid != 0 ? p->pw_uid : NOBODY;
	*ret_gid = p && p->pw_uid != 0 ? p->pw_gid : NOBODY;
}

/* Changes from root to the service's own user: root owns many files, so it has many rights even
 * without capabilities. A container may have no other user; then the process stays root. */
static void change_user(void)
{
	uid_t uid;
	gid_t gid;
	int r;

	if (geteuid() != 0)
		return;
	find_user(&uid, &gid);
	r = caps_change_user(uid, gid);
	if (r < 0)
		log_info("cannot change to user %u (%s): continuing as root, without capabilities",
			 (unsigned)uid, strerror(-r));
}

/* Drops all rights except the right to raise its own priority. The process keeps this right through
 * resource limits or, if they are too low (a container without CAP_SYS_RESOURCE), through
 * CAP_SYS_NICE, which the system call filter restricts to this process. */
static int give_up_rights(void)
{
	static const unsigned nice_capability[] = {CAP_SYS_NICE};
	bool nice = raise_limit(RLIMIT_NICE, RLIMIT_NICE_MOST);
	bool real_time = raise_limit(RLIMIT_RTPRIO, RLIMIT_RTPRIO_MOST);

	/* The limit counts all processes of the new user, which may have many others. */
	(void)raise_limit(RLIMIT_NPROC, RLIM_INFINITY);
	change_user();
	return caps_keep_only(nice_capability, nice && real_time ? 0 : 1);
}

static int restrict_files(struct err_text *e)
{
	int r = landlock_restrict_files(NULL, 0);

	if (r == -ENOSYS)
		log_info("this kernel has no Landlock: only file permissions limit which files "
			 "may be read");
	else if (r < 0)
		return err_set(e, r, "cannot restrict file access: %s", strerror(-r));
	return 0;
}

int sandbox_skip(struct err_text *e)
{
	int r = background_close_start();

	return r < 0 ? err_set(e, r, "cannot start threads: %s", strerror(-r)) : 0;
}

int sandbox_enter(struct err_text *e)
{
	int r;

	if (BUILT_WITH_SANITIZER) {
		log_info("built with a sanitizer: no sandbox");
		return sandbox_skip(e);
	}
	r = give_up_rights();
	if (r < 0)
		return err_set(e, r, "cannot drop capabilities: %s", strerror(-r));
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot disable core dumps: %s", strerror(errno));
	r = restrict_files(e);
	if (r < 0)
		return r;
	r = syscall_filter_install(&(struct syscall_list){
		.allowed = own_calls, .opens_to_read_only = true, .has_threads = true});
	if (r == -ENOSYS)
		log_warn("this kernel has no seccomp; continuing without a system call filter");
	else if (r < 0)
		return err_set(e, r, "cannot install the system call filter: %s", strerror(-r));
	/* Last, so that the threads inherit what this thread has dropped, and the filter. */
	return sandbox_skip(e);
}
