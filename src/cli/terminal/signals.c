/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals are blocked and read from a signalfd, which reports the sender. SI_KERNEL marks a
 * terminal key, which signals all foreground processes; a kill(2) is assumed to reach this process
 * only.
 */

#include "cli/terminal/signals.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "cli/terminal/verb.h"

struct termination_signals {
	termination_signals_fn fn;
	void *ctx;
	uint64_t same_ns;
	uint64_t reported_ns; /* time of the last reported signal, monotonic; 0: none */
	sigset_t set;
	sigset_t before; /* the previous signal mask */
	int fd;
	struct event *event; /* owned */
};

static bool read_signal(const struct termination_signals *s, struct signalfd_siginfo *ret)
{
	return read(s->fd, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
}

/* Returns true if the signal belongs to the last reported one. The time counts from that report, so
 * a key that is held down is eventually reported again. */
static bool repeats_last_request(const struct termination_signals *s)
{
	return s->reported_ns && clock_mono_ns() - s->reported_ns < s->same_ns;
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct signalfd_siginfo info, more;
	struct termination_signals *s = ctx;

	if (!read_signal(s, &info) || repeats_last_request(s))
		return;
	/* Signals that are already pending belong to this one. */
	while (s->same_ns && read_signal(s, &more))
		if (more.ssi_code == SI_KERNEL)
			info = more;
	s->reported_ns = clock_mono_ns();
	/* One signal per loop iteration: the callback may free s. */
	s->fn(s->ctx, (int)info.ssi_signo, info.ssi_code == SI_KERNEL);
}

static void signals_fill(sigset_t *set)
{
	struct sigaction hup;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	if (!sigaction(SIGHUP, NULL, &hup) && hup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

int termination_signals_watch(struct event_base *loop, unsigned same_ms, termination_signals_fn fn,
			      void *ctx, struct termination_signals **ret)
{
	struct termination_signals *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct termination_signals){
		.fn = fn, .ctx = ctx, .same_ns = same_ms * (uint64_t)NS_PER_MS};
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signals_fill(&s->set);
	sigprocmask(SIG_BLOCK, &s->set, &s->before);
	s->fd = signalfd(-1, &s->set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->event = s->fd < 0 ? NULL : event_new(loop, s->fd, EV_READ | EV_PERSIST, on_readable, s);
	if (!s->event || event_add(s->event, NULL)) {
		termination_signals_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void termination_signals_free(struct termination_signals *s)
{
	struct signalfd_siginfo info;

	if (!s)
		return;
	while (s->fd >= 0 && read_signal(s, &info))
		;
	event_freep(&s->event);
	closep(&s->fd);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	free(s);
}

int termination_signals_fd(const struct termination_signals *s)
{
	return s->fd;
}

static void on_sigbus(int number)
{
	static const char text[] = "sonda: the trace file was truncated while it was read\n";
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)n;
	_exit(EXIT_FAILED);
}

void mapped_trace_handle_sigbus(void)
{
	sigaction(SIGBUS, &(struct sigaction){.sa_handler = on_sigbus}, NULL);
}
