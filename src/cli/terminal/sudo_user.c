/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/sudo_user.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/str.h"

bool sudo_user_get(uid_t *ret_uid, gid_t *ret_gid)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	uint32_t u, g;

	if (geteuid() != 0 || !uid || !gid || str_to_u32(uid, &u) || str_to_u32(gid, &g) ||
	    u == UINT32_MAX || g == UINT32_MAX)
		return false;
	*ret_uid = u;
	*ret_gid = g;
	return true;
}

/* Returns true for a directory or a file of root; a file with other hard links may be that of
 * another user. */
static bool is_safe_to_chown(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == 0 &&
	       (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink <= 1));
}

void sudo_user_chown(int fd)
{
	uid_t uid;
	gid_t gid;

	if (sudo_user_get(&uid, &gid) && is_safe_to_chown(fd) && fchown(fd, uid, gid)) {
		/* The file stays root's. This is not an error. */
	}
}
