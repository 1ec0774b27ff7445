/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/unprivileged.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/caps.h"
#include "base/system/log.h"
#include "base/system/syscall_filter.h"

/* The daemon runs as the first of these users that exists. */
static const char *const own_users[] = {"sonda", "nobody"};
#define NOBODY 65534

/* Sets the ids of the first of own_users that exists; to NOBODY if none exists or it is root. */
static void find_user(uid_t *ret_uid, gid_t *ret_gid)
{
	const struct passwd *p = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(own_users) && !p; i++)
		p = getpwnam(own_users[i]);
	*ret_uid = p && p->pw_uid != 0 ? p->pw_uid : NOBODY;
	*ret_gid = p && p->pw_uid != 0 ? p->pw_gid : NOBODY;
}

/* Changes from root to the daemon's own user: root owns many files, so it has many rights even
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

static int restrict_files(const struct unprivileged *u, struct err_text *e)
{
	int r = landlock_restrict_files(u->paths, u->n_paths);

	if (r == -ENOSYS)
		log_info("this kernel has no Landlock: only file permissions limit which files "
			 "this process may read");
	else if (r < 0)
		return err_set(e, r, "cannot restrict file access: %s", strerror(-r));
	return 0;
}

int unprivileged_enter(const struct unprivileged *u, struct err_text *e)
{
	int r;

	change_user();
	r = caps_keep_only(u->keep, u->n_keep);
	if (r < 0)
		return err_set(e, r, "cannot drop capabilities: %s", strerror(-r));
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot disable core dumps: %s", strerror(errno));
	r = restrict_files(u, e);
	if (r < 0)
		return r;
	r = syscall_filter_install(&(struct syscall_list){
		.allowed = u->calls, .opens_to_read_only = true, .has_threads = true});
	if (r == -ENOSYS)
		log_warn("this kernel has no seccomp; continuing without a system call filter");
	else if (r < 0)
		return err_set(e, r, "cannot install the system call filter: %s", strerror(-r));
	return 0;
}
