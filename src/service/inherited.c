/* SPDX-License-Identifier: Apache-2.0 */
#include "service/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/text/str.h"

#define FIRST_FD 3
#define CONSUMER_NAME "consumer"

/* ---- one socket ---- */

static int int_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

/* Android's init only binds it. listen() is called on no other: it would make this process the one that clients see
 * behind the socket (SO_PEERCRED), in place of systemd, which they trust. */
static int prepare(int fd, struct err_text *e)
{
	if (int_option(fd, SO_DOMAIN) != AF_UNIX || int_option(fd, SO_TYPE) != SOCK_STREAM)
		return err_set(e, -ENOTSOCK,
			       "descriptor %d that was passed is no unix stream socket", fd);
	if ((int_option(fd, SO_ACCEPTCONN) != 1 && listen(fd, SOMAXCONN) < 0) ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_set(e, -errno, "descriptor %d that was passed: %s", fd, strerror(errno));
	return 0;
}

/* Is it bound to the address of consumers? */
static bool has_consumer_address(int fd)
{
	const char *address = sock_default_consumer();
	struct sockaddr_un a;
	socklen_t len = sizeof(a);
	char text[sizeof(a.sun_path) + 1] = "";

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0 ||
	    len <= offsetof(struct sockaddr_un, sun_path))
		return false;
	memcpy(text, a.sun_path, len - offsetof(struct sockaddr_un, sun_path));
	if (!text[0])
		text[0] = '@';
	return strcmp(text, address) == 0;
}

/* ---- systemd ---- */

static bool next_is_consumer(char **names)
{
	const char *name = *names ? strsep(names, ":") : NULL;

	return name && strcmp(name, CONSUMER_NAME) == 0;
}

/* Its index, or that of the last one. */
static size_t find_consumer(const struct inherited *s, char *names)
{
	for (size_t i = 0; i < s->n; i++)
		if (next_is_consumer(&names))
			return i;
	for (size_t i = 0; i < s->n; i++)
		if (has_consumer_address(s->fds[i]))
			return i;
	return s->n - 1;
}

static void put_last(struct inherited *s, size_t i)
{
	int fd = s->fds[i];

	s->fds[i] = s->fds[s->n - 1];
	s->fds[s->n - 1] = fd;
}

static int from_systemd(struct inherited *s, struct err_text *e)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");
	_cleanup_(freep) char *copy = names ? strdup(names) : NULL;
	uint32_t number, n;
	int r = 0;

	if (!pid || !count || str_to_u32(pid, &number) < 0 || number != (uint32_t)getpid())
		return 0; /* for another process, or for none */
	if (str_to_u32(count, &n) < 0 || n < 2 || n > INHERITED_MAX)
		return err_set(e, -EINVAL,
			       "LISTEN_FDS=%.20s: 2 to %d sockets can be passed, one of them "
			       "for consumers",
			       count, INHERITED_MAX);
	for (; s->n < n && r == 0; s->n++) {
		s->fds[s->n] = FIRST_FD + (int)s->n;
		r = prepare(s->fds[s->n], e);
	}
	if (r == 0)
		put_last(s, find_consumer(s, copy));
	return r;
}

/* ---- Android ---- */

static int from_android(struct inherited *s, struct err_text *e)
{
	static const char *const variables[] = {"ANDROID_SOCKET_traced_producer",
						"ANDROID_SOCKET_traced_consumer"};
	uint32_t fd;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (!getenv(variables[i]) && getenv(variables[1 - i]))
			return err_set(e, -EINVAL, "%s is there, but no %s", variables[1 - i],
				       variables[i]);
	for (size_t i = 0; i < ARRAY_SIZE(variables) && getenv(variables[i]) && r == 0; i++) {
		const char *text = getenv(variables[i]);

		if (str_to_u32(text, &fd) < 0 || fd > INT32_MAX)
			return err_set(e, -EINVAL, "%s=%.20s is no descriptor", variables[i], text);
		s->fds[s->n++] = (int)fd;
		r = prepare((int)fd, e);
	}
	return r;
}

int inherited_find(struct inherited *ret, struct err_text *e)
{
	struct inherited found = {.n = 0};
	int r = from_systemd(&found, e);

	if (r == 0 && found.n == 0)
		r = from_android(&found, e);
	if (r < 0)
		return r;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	*ret = found;
	return 0;
}
