/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sandbox.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "base/system/background_close.h"
#include "base/system/log.h"
#include "base/system/sanitizer.h"
#include "base/system/unprivileged.h"

#define RLIMIT_NICE_MOST 40 /* nice -20 */
#define RLIMIT_RTPRIO_MOST 99

/* The system calls for connections, shared memory, the files of sessions (which other processes
 * open), and the end of the file helper. */
static const char *const own_calls[] = {
	"accept",	"accept4",  "fdatasync", "ftruncate", "ftruncate64",
	"memfd_create", "pwritev2", "wait4",	 NULL,
};

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

/* The process keeps the right to raise its own priority through resource limits or, if they are too
 * low (a container without CAP_SYS_RESOURCE), through CAP_SYS_NICE, which the system call filter
 * restricts to this process. Returns true if the limits suffice. */
static bool raise_limits(void)
{
	bool nice = raise_limit(RLIMIT_NICE, RLIMIT_NICE_MOST);
	bool real_time = raise_limit(RLIMIT_RTPRIO, RLIMIT_RTPRIO_MOST);

	/* The limit counts all processes of the new user, which may have many others. */
	(void)raise_limit(RLIMIT_NPROC, RLIM_INFINITY);
	return nice && real_time;
}

int sandbox_skip(struct err_text *e)
{
	int r = background_close_start();

	return r < 0 ? err_set(e, r, "cannot start threads: %s", strerror(-r)) : 0;
}

int sandbox_enter(struct err_text *e)
{
	static const unsigned nice_capability[] = {CAP_SYS_NICE};
	int r;

	if (BUILT_WITH_SANITIZER) {
		log_info("built with a sanitizer: no sandbox");
		return sandbox_skip(e);
	}
	r = unprivileged_enter(&(struct unprivileged){.keep = nice_capability,
						      .n_keep = raise_limits() ? 0 : 1,
						      .calls = own_calls},
			       e);
	/* Last, so that its threads have no more rights than this thread, and the same filter. */
	return r < 0 ? r : sandbox_skip(e);
}
