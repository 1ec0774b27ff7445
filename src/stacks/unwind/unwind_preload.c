/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_preload.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/text/number_read.h"
#include "stacks/unwind/unwind_follow.h"
#include "stacks/unwind/unwind_tables.h"

#define PRELOAD_TICK_MS 2

/* Finds the processes, the youngest last. Returns 0 or -errno. */
static int find_wanted_processes(struct unwind_preload *p)
{
	DIR *dir = opendir(p->proc_root);
	const struct dirent *d;
	int r = dir ? 0 : -errno;

	while (r == 0 && (d = readdir(dir))) {
		int32_t pid = (int32_t)str_leading_i64(d->d_name, 10);

		if (pid <= 0 || !p->is_wanted(p->ctx, pid))
			continue;
		r = array_reserve(&p->pids, &p->cap, p->n + 1, sizeof(*p->pids));
		if (r == 0)
			p->pids[p->n++] = pid;
	}
	if (dir)
		closedir(dir);
	return r;
}

/* Requests mappings, those of the youngest process first: a command that is to be recorded is among
 * them. */
static void request_maps(struct unwind_preload *p)
{
	while (p->n && file_reader_request_maps(&p->reader, p->pids[p->n - 1], p->pids[p->n - 1])) {
		p->n--;
		p->outstanding++;
	}
}

static void preload_on_answer(void *ctx, const struct file_answer *a)
{
	struct unwind_preload *p = ctx;
	uint32_t at = 0;

	if (a->kind == FILE_REQUEST_CLOSE_ALL) { /* the reader has ended */
		p->n = p->outstanding = 0;
		return;
	}
	for (uint32_t i = 0; i < a->n; i++) {
		struct file_mapping m;

		memcpy(&m, a->body + at, sizeof(m));
		at += sizeof(m);
		unwind_follow_mapping((int32_t)a->id, &m, a->body + at);
		at += (m.path_len + 7) / 8 * 8;
	}
	if (!a->has_more)
		p->outstanding--;
}

static void preload_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct unwind_preload *p = ctx;
	bool is_cut = unwind_tables_are_almost_full() || clock_mono_ns() > p->ends_ns;

	request_maps(p);
	if (is_cut)
		unwind_tables_clear_queue();
	if (is_cut || (!p->n && !p->outstanding && !unwind_tables_is_busy()))
		unwind_preload_end(p);
	else
		event_timer_ms(p->timer, PRELOAD_TICK_MS);
}

int unwind_preload_begin(struct unwind_preload *p, struct event_base *loop)
{
	int r;

	p->reader = (struct file_reader_user){.answered = preload_on_answer, .ctx = p};
	r = file_reader_join(&p->reader, loop);
	if (r < 0)
		return r;
	p->timer = evtimer_new(loop, preload_on_tick, p);
	r = p->timer ? find_wanted_processes(p) : -ENOMEM;
	if (r < 0) {
		unwind_preload_deinit(p);
		return r;
	}
	p->ends_ns = clock_mono_ns() + UNWIND_PRELOAD_MS * NS_PER_MS;
	event_timer_soon(p->timer);
	return 0;
}

void unwind_preload_end(struct unwind_preload *p)
{
	if (!p->timer)
		return;
	unwind_preload_deinit(p);
	p->done(p->ctx);
}

void unwind_preload_deinit(struct unwind_preload *p)
{
	file_reader_leave(&p->reader);
	event_freep(&p->timer);
	freep(&p->pids);
	p->n = p->cap = p->outstanding = 0;
}
