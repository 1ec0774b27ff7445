/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/caps.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "base/syscall_filter.h"

#define RLIMIT_NICE_MOST 40 /* nice -20 */
#define RLIMIT_RTPRIO_MOST 99

/* Connections that come, and the files that sessions write. */
static const char *const own_calls[] = {
	"accept",    "accept4", "copy_file_range", "fallocate",	  "fchmod",
	"fdatasync", "fsync",	"ftruncate",	   "ftruncate64", "memfd_create",
	"sendfile",  "splice",	"unlink",	   "unlinkat",	  NULL,
};

/* To n where that is allowed, else to the hard limit. */
static void raise_limit(__rlimit_resource_t which, rlim_t n)
{
	struct rlimit l = {n, n};

	if (setrlimit(which, &l) == 0 || getrlimit(which, &l) < 0)
		return;
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(which, &l); /* without it priority_boost is refused, with the reason */
}

int sandbox_enter(struct err_text *e)
{
	int r;

	if (BUILT_WITH_SANITIZER) {
		log_info("built with a sanitizer: no sandbox");
		return 0;
	}
	raise_limit(RLIMIT_NICE, RLIMIT_NICE_MOST);
	raise_limit(RLIMIT_RTPRIO, RLIMIT_RTPRIO_MOST);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot forbid core dumps: %s", strerror(errno));
	r = caps_keep_only(NULL, 0);
	if (r < 0)
		return err_set(e, r, "cannot give up capabilities: %s", strerror(-r));
	r = syscall_filter_install(&(struct syscall_list){.allowed = own_calls});
	if (r == -ENOSYS)
		log_warn("this kernel has no system call filters; going on without");
	else if (r < 0)
		return err_set(e, r, "cannot install the system call filter: %s", strerror(-r));
	return 0;
}
