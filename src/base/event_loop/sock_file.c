/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/sock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/event_loop/sock.h"
#include "base/text/str.h"

/* ---- group and mode ---- */

static int parse_group(const char *text, gid_t *ret, struct err_text *e)
{
	const struct group *g;
	uint32_t number;

	if (str_to_u32(text, &number) == 0) {
		*ret = number;
		return 0;
	}
	g = getgrnam(text);
	if (!g)
		return err_set(e, -ENOENT, "group \"%.100s\" does not exist", text);
	*ret = g->gr_gid;
	return 0;
}

static int parse_mode(const char *text, mode_t *ret, struct err_text *e)
{
	mode_t mode = 0;

	if (strlen(text) != 4 || strspn(text, "01234567") != 4)
		return err_set(e, -EINVAL,
			       "\"%.100s\" is not a mode: use four octal digits, as in 0660", text);
	for (; *text; text++)
		mode = mode * 8 + (mode_t)(*text - '0');
	*ret = mode;
	return 0;
}

int sock_permissions_parse(const char *group, const char *mode, struct sock_permissions *ret,
			   struct err_text *e)
{
	struct sock_permissions found;
	int r = parse_group(group, &found.group, e);

	if (r == 0)
		r = parse_mode(mode, &found.mode, e);
	if (r == 0)
		*ret = found;
	return r;
}

/* Sets the group of a socket's file, then its mode, so that the new mode never applies to the old
 * group. Returns 0, or -errno and sets e. */
static int sock_permissions_set(const char *path, const struct sock_permissions *p,
				struct err_text *e)
{
	if (fchownat(AT_FDCWD, path, (uid_t)-1, p->group, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, -errno, "cannot change the group of %s to %u: %s", path,
			       (unsigned)p->group, strerror(errno));
	if (chmod(path, p->mode) < 0)
		return err_set(e, -errno, "cannot set the mode of %s to %04o: %s", path,
			       (unsigned)p->mode, strerror(errno));
	return 0;
}

/* ---- listening ---- */

#define OWN_USER_ONLY 0177 /* umask: 0600 is left */

int sock_listen_for_own_user(const char *address, int *ret_fd, struct err_text *e)
{
	mode_t before = umask(OWN_USER_ONLY);
	int r = sock_listen(address, ret_fd, e);

	umask(before);
	return r;
}

int sock_listen_with(const char *address, const struct sock_permissions *p, int *ret_fd,
		     struct err_text *e)
{
	int r;

	if (!p || sock_is_remote(address))
		return sock_listen(address, ret_fd, e);
	if (sock_family_of(address) == SOCK_FAMILY_UNIX_ABSTRACT)
		return err_set(
			e, -EINVAL,
			"--set-socket-permissions: the abstract socket %s has no permissions",
			address);
	r = sock_listen_for_own_user(address, ret_fd, e);
	return r < 0 ? r : sock_permissions_set(address, p, e);
}

void sock_make_run_dir(const char *address)
{
	mode_t before;

	if (geteuid() != 0 || !str_starts(address, SOCK_RUN_DIR))
		return;
	before = umask(022);
	(void)mkdir(SOCK_RUN_DIR, 0755);
	umask(before);
}

/* ---- passed sockets ---- */

static int make_passed_usable(int fd, struct err_text *e)
{
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_set(e, -errno, "passed descriptor %d: %s", fd, strerror(errno));
	return 0;
}

int sock_find_passed(size_t max, size_t *ret_n, struct err_text *e)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint32_t number, n = 0;
	int r = 0;

	if (!pid || !count || str_to_u32(pid, &number) < 0 || number != (uint32_t)getpid()) {
		*ret_n = 0; /* the variables are for another process, or not set */
		return 0;
	}
	if (str_to_u32(count, &n) < 0 || n > max)
		return err_set(e, -EINVAL, "LISTEN_FDS=%.20s: at most %zu sockets can be passed",
			       count, max);
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = make_passed_usable(SOCK_FIRST_PASSED + (int)i, e);
	if (r == 0)
		*ret_n = n;
	return r;
}

static int sock_get_int_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

/* Calls listen() only on sockets that are bound but do not listen, as Android's init passes them. A
 * second listen() would make SO_PEERCRED of the clients name this process in place of systemd,
 * which they trust. */
int sock_prepare_passed(int fd, struct err_text *e)
{
	if (sock_get_int_option(fd, SO_DOMAIN) != AF_UNIX ||
	    sock_get_int_option(fd, SO_TYPE) != SOCK_STREAM)
		return err_set(e, -ENOTSOCK, "passed descriptor %d is not a unix stream socket",
			       fd);
	if (sock_get_int_option(fd, SO_ACCEPTCONN) != 1 && listen(fd, SOMAXCONN) < 0)
		return err_set(e, -errno, "passed descriptor %d: %s", fd, strerror(errno));
	return make_passed_usable(fd, e);
}
