/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: sends SIGTERM to the process as soon as it has bound its nth socket to an address of
 * the file system (SIGNAL_AT_BIND=N), which is before it has set a handler.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	static unsigned n;
	int (*next)(int, const struct sockaddr *, socklen_t);
	const char *at = getenv("SIGNAL_AT_BIND");
	int r;

	*(void **)&next = dlsym(RTLD_NEXT, "bind");
	r = next(fd, address, len);
	if (r == 0 && address->sa_family == AF_UNIX && at && ++n == (unsigned)atoi(at))
		kill(getpid(), SIGTERM);
	return r;
}
