/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/helper_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"

#define CALLS_MAX 32 /* of an opener, with the last NULL */

struct fork_ctx {
	const struct helper_of_pair *helper;
	int other; /* borrowed */
};

static void run_helper_of_pair(int fd, void *ctx)
{
	const struct fork_ctx *c = ctx;

	c->helper->run(fd, c->other, c->helper->ctx);
}

int helper_pair_start(const struct helper_of_pair *opener, const struct helper_of_pair *parser,
		      struct helper_pair *ret)
{
	struct fork_ctx to_parser = {.helper = opener}, from_opener = {.helper = parser};
	struct helper_pair p = HELPER_PAIR_NONE;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	to_parser.other = pair[0];
	from_opener.other = pair[1];
	r = helper_process_start(parser->name, run_helper_of_pair, &from_opener, pair[1],
				 &p.parser);
	if (r == 0)
		r = helper_process_start(opener->name, run_helper_of_pair, &to_parser, pair[0],
					 &p.opener);
	close(pair[0]);
	close(pair[1]);
	if (r < 0)
		helper_pair_close(&p);
	else
		*ret = p;
	return r;
}

void helper_pair_close(struct helper_pair *p)
{
	closep(&p->opener.fd);
	closep(&p->parser.fd);
}

bool helper_pair_is_alive(const struct helper_pair *p)
{
	return p->opener.fd >= 0 && p->parser.fd >= 0;
}

bool helper_pair_request(const struct helper_pair *p, const void *request, size_t len)
{
	return helper_pair_is_alive(p) &&
	       helper_send(p->opener.fd, request, len, -1, MSG_DONTWAIT) == 0;
}

void helper_confine_opener(const unsigned *caps, size_t n_caps, const char *const *calls)
{
	static const struct syscall_without reading[] = {
		{"open", 1, O_ACCMODE | O_CREAT | O_TRUNC},
		{"openat", 2, O_ACCMODE | O_CREAT | O_TRUNC},
		{NULL, 0, 0},
	};
	const char *all[CALLS_MAX] = {
		"close",	"exit_group", "fstat", "newfstatat", "recvmsg",
		"rt_sigreturn", "sendmsg",    "statx", "write",
	};
	const struct syscall_list list = {.allowed = all, .without = reading, .is_whole = true};
	size_t n = 0;

	while (all[n])
		n++;
	for (size_t i = 0; calls[i] && n < CALLS_MAX - 1; i++)
		all[n++] = calls[i];
	(void)helper_confine(caps, n_caps, &list);
}

int helper_open_found(int found, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}
