/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/system/caps.h"
#include "base/system/close_aside.h"
#include "base/system/log.h"
#include "base/system/sanitizer.h"
#include "base/system/syscall_filter.h"

#define RLIMIT_NICE_MOST 40 /* nice -20 */
#define RLIMIT_RTPRIO_MOST 99

/* Connections that come, and the files that sessions write. */
static const char *const own_calls[] = {
	"accept",    "accept4", "copy_file_range", "fallocate",	  "fchmod",
	"fdatasync", "fsync",	"ftruncate",	   "ftruncate64", "memfd_create",
	"sendfile",  "splice",	"unlink",	   "unlinkat",	  NULL,
};

/* To n where that is allowed: true. Else to the hard limit. */
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

/* What sets its priority: its limits, or, where they stay too low (a container without
 * CAP_SYS_RESOURCE), the capability, which the filter leaves of use for this process alone. */
static int keep_priority(void)
{
	static const unsigned nice_capability[] = {CAP_SYS_NICE};
	bool nice = raise_limit(RLIMIT_NICE, RLIMIT_NICE_MOST);
	bool real_time = raise_limit(RLIMIT_RTPRIO, RLIMIT_RTPRIO_MOST);

	return caps_keep_only(nice_capability, nice && real_time ? 0 : 1);
}

int sandbox_leave_out(struct err_text *e)
{
	int r = close_aside_start();

	return r < 0 ? err_set(e, r, "cannot start threads: %s", strerror(-r)) : 0;
}

int sandbox_enter(struct err_text *e)
{
	int r;

	if (BUILT_WITH_SANITIZER) {
		log_info("built with a sanitizer: no sandbox");
		return sandbox_leave_out(e);
	}
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot forbid core dumps: %s", strerror(errno));
	r = keep_priority();
	if (r < 0)
		return err_set(e, r, "cannot give up capabilities: %s", strerror(-r));
	/* With what is given up per thread: those that are started later inherit it. */
	r = sandbox_leave_out(e);
	if (r < 0)
		return r;
	r = syscall_filter_install(
		&(struct syscall_list){.allowed = own_calls, .has_threads = true});
	if (r == -ENOSYS)
		log_warn("this kernel has no system call filters; going on without");
	else if (r < 0)
		return err_set(e, r, "cannot install the system call filter: %s", strerror(-r));
	return 0;
}
