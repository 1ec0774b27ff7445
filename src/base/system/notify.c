/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

/* Connects to systemd. The address is a path, or '@' and an abstract name. Returns the descriptor,
 * which the caller owns, or -errno. */
static int connect_systemd(const char *address)
{
	_cleanup_(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t len = strlen(address);

	if (fd < 0)
		return -errno;
	if ((address[0] != '/' && address[0] != '@') || len >= sizeof(a.sun_path))
		return -EINVAL;
	memcpy(a.sun_path, address, len);
	if (address[0] == '@')
		a.sun_path[0] = '\0';
	if (connect(fd, (struct sockaddr *)&a,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int notify_open(struct notify *n, const char *variable, struct err_text *e)
{
	const char *number = getenv(variable), *address = getenv("NOTIFY_SOCKET");
	uint32_t fd;
	int r = 0, s = 0;

	*n = (struct notify){.variable = variable, .fd = -1, .systemd = -1};
	if (number && *number) {
		if (str_to_u32(number, &fd) < 0 || fd > INT32_MAX || fcntl((int)fd, F_GETFD) < 0) {
			r = err_set(e, -EBADF, "%s=%.100s is not an open descriptor", variable,
				    number);
		} else {
			fcntl((int)fd, F_SETFD, FD_CLOEXEC);
			n->fd = (int)fd;
		}
	}
	if (address && *address) {
		s = connect_systemd(address);
		if (s < 0)
			err_set(e, s, "NOTIFY_SOCKET=%.100s: %s", address, strerror(-s));
		n->systemd = MAX(s, -1);
	}
	return r < 0 ? r : MIN(s, 0);
}

int notify_systemd(const struct notify *n, const char *status, struct err_text *e)
{
	char text[256];
	int len = snprintf(text, sizeof(text), "READY=1\nMAINPID=%d\nSTATUS=%.150s\n",
			   (int)getpid(), status);

	if (n->systemd >= 0 && send(n->systemd, text, (size_t)len, MSG_NOSIGNAL) < 0)
		return err_set(e, -errno, "NOTIFY_SOCKET: %s", strerror(errno));
	return 0;
}

int notify_ready(struct notify *n, struct err_text *e)
{
	int r = notify_systemd(n, "", e);

	if (n->fd >= 0 && fs_write_all(n->fd, "1", 1) < 0)
		r = err_set(e, -errno, "%s: %s", n->variable, strerror(errno));
	notify_close(n);
	return r;
}

void notify_close(struct notify *n)
{
	closep(&n->fd);
	closep(&n->systemd);
}
