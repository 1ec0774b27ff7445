/* SPDX-License-Identifier: Apache-2.0 */
/* If the timer fires first, `done` is called then, and again when the table is ready. */
#include <errno.h>

#include <event2/event.h>

#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "ftrace/session/session_symbols.h"

static void session_symbols_on_ready(void *ctx)
{
	struct session_symbols *s = ctx;

	session_symbols_stop_waiting(s);
	if (s->done)
		s->done(s->ctx);
}

static void session_symbols_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct session_symbols *s = arg;

	s->done(s->ctx);
}

int session_symbols_join(struct session_symbols *s, struct event_base *loop, const char *proc_root,
			 const Pb__FtraceConfig *config)
{
	if (!config->symbolize_ksyms)
		return 0;
	s->user = (struct symbol_cache_user){.ready = session_symbols_on_ready, .ctx = s};
	s->timer = evtimer_new(loop, session_symbols_on_timer, s);
	if (!s->timer)
		return -ENOMEM;
	return symbol_cache_join(&s->user, loop, proc_root,
				 (enum symbol_cache_policy)config->ksyms_mem_policy);
}

bool session_symbols_are_pending(const struct session_symbols *s)
{
	return s->user.joined && !s->user.is_ready;
}

bool session_symbols_wait(struct session_symbols *s, uint32_t ms, void (*done)(void *ctx),
			  void *ctx)
{
	if (!session_symbols_are_pending(s) || event_timer_ms(s->timer, ms))
		return false;
	s->done = done;
	s->ctx = ctx;
	return true;
}

void session_symbols_stop_waiting(struct session_symbols *s)
{
	if (s->timer)
		event_del(s->timer);
}

void session_symbols_apply(const struct session_symbols *s, struct ring_listener *const *listeners,
			   unsigned n, struct ftrace_stats_extra *more, struct setup_errors *errors)
{
	const struct symbol_table *table = symbol_cache_table(&s->user);

	if (!s->user.joined)
		return;
	for (unsigned i = 0; i < n; i++)
		page_encoder_set_symbols(listeners[i]->encoder, table);
	more->ksyms_parsed = table ? table->n_functions : 0;
	more->ksyms_kb = table ? (uint32_t)((symbol_table_size(table) + 1023) / 1024) : 0;
	if (s->user.is_ready && !table)
		setup_error_add_once(errors, "option:symbolize_ksyms (%s)", s->user.problem);
}

void session_symbols_report_missing(const struct session_symbols *s, struct setup_errors *errors)
{
	if (session_symbols_are_pending(s))
		setup_error_add_once(
			errors, "option:symbolize_ksyms (addresses in the first records have no "
				"names, because they were read before the kernel's symbols)");
}

void session_symbols_leave(struct session_symbols *s)
{
	symbol_cache_leave(&s->user);
	event_freep(&s->timer);
	*s = (struct session_symbols){0};
}
