// SPDX-License-Identifier: Apache-2.0
/*
 * The signals are blocked and read from a descriptor, because that tells who sent them: a key of
 * the terminal is the kernel's, and reaches everybody in the foreground; kill(2) reaches only us.
 */

#include "cli/end_signals.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"

struct end_signals {
	end_signals_fn fn;
	void *ctx;
	sigset_t set;
	sigset_t before; /* the mask as it was found */
	int fd;
	struct event *event; /* owned */
};

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct end_signals *s = ctx;
	struct signalfd_siginfo info;

	(void)what;
	/* One a turn: the callee may free us. */
	if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->fn(s->ctx, (int)info.ssi_signo, info.ssi_code == SI_KERNEL);
}

static void fill(sigset_t *set)
{
	struct sigaction hup;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	if (!sigaction(SIGHUP, NULL, &hup) && hup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

int end_signals_watch(struct event_base *loop, end_signals_fn fn, void *ctx,
		      struct end_signals **ret)
{
	struct end_signals *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct end_signals){.fn = fn, .ctx = ctx};
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	fill(&s->set);
	sigprocmask(SIG_BLOCK, &s->set, &s->before);
	s->fd = signalfd(-1, &s->set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->event = s->fd < 0 ? NULL : event_new(loop, s->fd, EV_READ | EV_PERSIST, on_readable, s);
	if (!s->event || event_add(s->event, NULL)) {
		end_signals_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void end_signals_free(struct end_signals *s)
{
	struct signalfd_siginfo info;

	if (!s)
		return;
	while (s->fd >= 0 && read(s->fd, &info, sizeof(info)) > 0)
		;
	if (s->event)
		event_free(s->event);
	closep(&s->fd);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	free(s);
}
