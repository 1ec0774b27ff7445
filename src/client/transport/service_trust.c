/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/service_trust.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/event_loop/sock.h"
#include "base/text/str.h"

static bool is_named_user(uid_t uid)
{
	const char *user = secure_getenv(SERVICE_USER_VARIABLE);
	const struct passwd *entry;
	uint32_t number;

	if (!user || !*user)
		return false;
	if (str_to_u32(user, &number) == 0)
		return number == uid;
	entry = getpwnam(user);
	return entry && entry->pw_uid == uid;
}

static bool owns_dir(uid_t uid)
{
	struct stat st;

	return stat(SOCK_RUN_DIR, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid;
}

/* Returns true for root, and for users that root has authorised: the owner of /run/perfetto, and
 * the named user if this process runs as root. */
static bool is_authorised_by_root(uid_t uid)
{
	return uid == 0 || owns_dir(uid) || (getuid() == 0 && is_named_user(uid));
}

/* Returns true for set-user-id programs and the like, as secure_getenv(3) decides. */
static bool has_more_rights_than_caller(void)
{
	return getauxval(AT_SECURE) != 0;
}

static bool service_trust_is_trusted(uid_t uid, bool by_library)
{
	if (by_library && has_more_rights_than_caller())
		return is_authorised_by_root(uid) || (uid == geteuid() && uid != getuid());
	return uid == geteuid() || uid == getuid() || is_authorised_by_root(uid) ||
	       is_named_user(uid);
}

bool service_trust_speaks_for_root(int fd)
{
	uid_t uid;
	pid_t pid;

	return sock_peer(fd, &uid, &pid) == 0 && is_authorised_by_root(uid);
}

/* Returns true if only root may have bound the socket at this address: a file directly in Android's
 * directory. */
static bool is_bound_by_init(const char *address)
{
	struct stat st;

	return str_starts(address, SOCK_ANDROID_DIR) &&
	       !strchr(address + strlen(SOCK_ANDROID_DIR), '/') &&
	       stat(SOCK_ANDROID_DIR, &st) == 0 && st.st_uid == 0 &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* The user whom service_trust_check() rejected last in this thread. */
static _Thread_local uid_t rejected;

/* Returns 0 if the peer is trusted or is not on a unix socket. Returns -EKEYREJECTED if it is not
 * trusted, and stores its user in `rejected`. Otherwise returns another -errno. */
static int check_peer(int fd, const char *address, bool by_library)
{
	uid_t uid;
	pid_t pid;
	int r = sock_peer(fd, &uid, &pid);

	if (r == -EOPNOTSUPP)
		return 0;
	if (r < 0)
		return r;
	if (service_trust_is_trusted(uid, by_library) || is_bound_by_init(address))
		return 0;
	rejected = uid;
	return -EKEYREJECTED;
}

int service_trust_check(int fd, const char *address)
{
	return check_peer(fd, address, false);
}

int service_trust_check_secure(int fd, const char *address)
{
	return check_peer(fd, address, true);
}

int service_trust_explain(const char *address, struct err_text *e)
{
	return err_set(e, -EKEYREJECTED,
		       "%s: the listener runs as uid %u, which is neither root nor this user nor "
		       "the owner of " SOCK_RUN_DIR
		       "; if it is the tracing service's user, set " SERVICE_USER_VARIABLE "=%u",
		       address, rejected, rejected);
}
