/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/caps.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cap-ng.h>

#define MAX_KEPT 64 /* more than the kernel has */

/* Returns the capabilities of the list that this process has; others cannot be kept. */
static size_t list_permitted_caps(const unsigned *keep, size_t n,
				  unsigned permitted[static MAX_KEPT])
{
	size_t n_permitted = 0;

	for (size_t i = 0; i < n && n_permitted < MAX_KEPT; i++)
		if (capng_have_capability(CAPNG_PERMITTED, keep[i]))
			permitted[n_permitted++] = keep[i];
	return n_permitted;
}

/* Makes the system calls itself: libcap makes more of them than the filter allows. */
int caps_set_effective(uint64_t mask)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].effective = data[i].permitted & (uint32_t)(mask >> 32 * i);
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int caps_keep_only(const unsigned *keep, size_t n)
{
	unsigned permitted[MAX_KEPT];
	capng_select_t which = CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT;
	size_t n_permitted;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (capng_get_caps_process() < 0)
		return -EPERM;
	n_permitted = list_permitted_caps(keep, n, permitted);
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		which |= CAPNG_SELECT_BOUNDS;
	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < n_permitted; i++)
		if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
				 permitted[i]) < 0)
			return -EINVAL;
	return capng_apply(which) < 0 ? -EPERM : 0;
}

/* Changes the groups first: the new user has no right to change them. Returns 0 or -errno. */
static int change_user_and_groups(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return 0;
}

int caps_change_user(uid_t uid, gid_t gid)
{
	pid_t parent = getppid();
	int death_signal = 0, r;

	if (prctl(PR_GET_PDEATHSIG, &death_signal) < 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -errno;
	r = change_user_and_groups(uid, gid);
	(void)prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	/* Changing the user clears the signal, so it is set again; the parent may already have
	 * ended. */
	if (death_signal > 0) {
		prctl(PR_SET_PDEATHSIG, death_signal);
		if (getppid() != parent)
			raise(death_signal);
	}
	return r < 0 ? r : caps_set_effective(UINT64_MAX);
}
