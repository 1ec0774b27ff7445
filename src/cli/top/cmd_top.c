/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	record_session --> packets --> live --> top_view --> top_terminal, or lines on stdout
 *	     ^                                      ^
 *	     +--- tick: once a period               +--- keys
 *
 * The counters are those of the running service, or of private daemons that end with sonda top.
 *
 * A tick asks for everything that was counted until then. The polls of the data sources fall on the
 * multiples of the period; a tick comes a moment later, when they are done.
 */
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/buffer_stats.h"
#include "analyze/live/live.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"
#include "cli/record/private_daemons.h"
#include "cli/record/record_session.h"
#include "cli/record/record_subject.h"
#include "cli/terminal/console.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/top/top_json.h"
#include "cli/top/top_options.h"
#include "cli/top/top_record.h"
#include "cli/top/top_terminal.h"
#include "cli/top/top_view.h"

#define BATCH_ROWS 20
/* The delay of a tick after the polls: period / AFTER_POLLS_DIVISOR, at most AFTER_POLLS_MS. */
#define AFTER_POLLS_DIVISOR 4
#define AFTER_POLLS_MS 40u
/* Values older than this number of periods are reported as late. */
#define LATE_PERIODS 3

struct top {
	struct top_options options;
	struct top_view view;
	struct console console;
	struct event_base *loop;
	struct termination_signals *signals;
	struct event *tick, *key, *resized, *stopped, *continued; /* owned */
	enum top_sources sources;
	Pb__TraceConfig *config; /* owned */
	struct record_session *session; /* owned */
	struct private_daemons *daemons; /* owned; NULL: a service was running */
	struct top_terminal *terminal; /* owned; NULL: lines on standard output */
	struct live *live; /* owned; NULL until the session has begun */
	struct strbuf lost, note, frame;
	struct strbuf no_ebpf; /* why there are no eBPF counters */
	struct err_text why; /* why sonda top ended, if it failed */
	uint64_t screens;
	bool shown; /* a screen of live was shown */
	bool ended;
	int code;
};

static void top_end(struct top *t, int code, const char *why)
{
	if (t->ended)
		return;
	t->ended = true;
	t->code = code;
	err_set(&t->why, 0, "%s", why ? why : "");
	event_base_loopbreak(t->loop);
}

/* ---- the screen ---- */

static uint64_t value_age_ns(const struct top *t)
{
	uint64_t newest = t->live ? live_newest_time(t->live) : 0, now = clock_boot_ns();

	return newest && now > newest ? now - newest : 0;
}

static bool is_update_late(const struct top *t)
{
	return value_age_ns(t) > LATE_PERIODS * t->options.period_ms * NS_PER_MS;
}

static void update_status_note(struct top *t)
{
	uint64_t at;

	strbuf_clear(&t->note);
	if (t->shown && live_is_stale(t->live, &at) && clock_boot_ns() > at)
		strbuf_printf(&t->note, "the process values are %llu ms old\n",
			      (unsigned long long)((clock_boot_ns() - at) / NS_PER_MS));
	if (is_update_late(t))
		strbuf_printf(&t->note, "no new values for %llu s\n",
			      (unsigned long long)(value_age_ns(t) / NS_PER_S));
	if (t->shown && t->sources == TOP_PROC)
		strbuf_printf(&t->note, "blocked time and system calls are unknown: %s%s\n",
			      t->no_ebpf.s ? t->no_ebpf.s : "no producer of eBPF counters",
			      t->daemons && geteuid() != 0 ? "; run: sudo sonda top" : "");
}

static struct top_state make_top_state(struct top *t)
{
	update_status_note(t);
	return (struct top_state){
		.live = t->shown ? t->live : NULL,
		.lost = t->lost.s ? t->lost.s : "",
		.note = t->note.s ? t->note.s : "",
		.has_ebpf = t->sources != TOP_PROC,
		.realtime_ns = clock_ns(CLOCK_REALTIME),
		.screens = t->screens,
	};
}

/* Removes the styles of lines that go to a file or pipe. */
static void strip_style_marks(struct strbuf *b)
{
	size_t to = 0;
	bool begins = true;

	for (size_t i = 0; i < b->len; i++) {
		if (!begins)
			b->s[to++] = b->s[i];
		begins = b->s[i] == '\n';
	}
	b->len = to;
}

static void draw_screen(struct top *t)
{
	struct top_state s = make_top_state(t);
	size_t width, height;
	int r;

	if (!t->terminal)
		return;
	strbuf_clear(&t->frame);
	top_terminal_size(t->terminal, &width, &height);
	r = top_view_lines(&t->view, &s, width, height, &t->frame);
	if (!r)
		r = top_terminal_draw(t->terminal, t->frame.s ? t->frame.s : "",
				      termination_signals_fd(t->signals));
	if (r && r != -EAGAIN)
		top_end(t, EXIT_FAILED, strerror(-r));
}

static void print_screen(struct top *t)
{
	struct top_state s = make_top_state(t);
	struct err_text e;
	int r;

	strbuf_clear(&t->frame);
	if (t->options.json) {
		r = top_view_json(&t->view, &s, &t->frame);
	} else {
		r = top_view_lines(&t->view, &s, 0, 0, &t->frame);
		strip_style_marks(&t->frame);
		strbuf_putc(&t->frame, '\n');
	}
	if (!r)
		r = top_write(STDOUT_FILENO, t->frame.s, t->frame.len,
			      termination_signals_fd(t->signals));
	/* The reader of a pipe may end before this program, as head(1) does. */
	if (r == -EPIPE) {
		top_end(t, EXIT_GOOD, NULL);
	} else if (r && r != -EAGAIN) {
		err_set(&e, r, "cannot write to standard output: %s", strerror(-r));
		top_end(t, EXIT_FAILED, e.text);
	}
}

static void show_screen(struct top *t)
{
	t->shown = true;
	t->screens++;
	if (t->terminal)
		draw_screen(t);
	else
		print_screen(t);
	if (t->options.count && t->screens >= t->options.count)
		top_end(t, EXIT_GOOD, NULL);
}

/* ---- the session ---- */

static int replace_config(struct top *t, struct err_text *e)
{
	Pb__TraceConfig *next;
	int r = top_config_build(&t->options, t->sources, &next);

	if (r)
		return err_set(e, r, "cannot build the config: %s", strerror(-r));
	/* The session keeps a pointer to *t->config, but none into it: its members can be
	 * replaced. */
	if (t->config) {
		Pb__TraceConfig old = *t->config;

		*t->config = *next;
		*next = old;
		pb__trace_config__free_unpacked(next, NULL);
	} else {
		t->config = next;
	}
	return 0;
}

static bool offers_ebpf(const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__DataSourceDescriptor *d = state->data_sources[i]->ds_descriptor;

		if (d && d->name && !strcmp(d->name, "linux.ebpf_counters"))
			return true;
	}
	return false;
}

/* Returns true if no option names a subject. Otherwise ends sonda top: without eBPF counters it is
 * unknown which processes belong to the subject. */
static bool top_continue_without_ebpf(struct top *t, const char *reason)
{
	struct err_text e;

	if (!top_options_name_subject(&t->options))
		return true;
	err_set(&e, 0,
		"--unit, --container, --pod, --cgroup and --program need eBPF counters: %.200s",
		reason);
	top_end(t, EXIT_FAILED, e.text);
	return false;
}

/* Requests the counters of /proc instead if no producer offers eBPF counters. */
static void top_on_state(void *ctx, bool at_end, const Pb__TracingServiceState *state)
{
	struct top *t = ctx;
	enum top_sources before = t->sources;
	struct err_text e;

	if (at_end || t->sources == TOP_PROC || offers_ebpf(state))
		return;
	if (!top_continue_without_ebpf(t, "no producer of eBPF counters"))
		return;
	t->sources = TOP_PROC;
	if (replace_config(t, &e))
		t->sources = before;
}

/* Called when all data sources have started. */
static void on_started(void *ctx)
{
	struct top *t = ctx;
	const struct live_setup setup = {
		.began_ns = clock_boot_ns(),
		.period_ns = t->options.period_ms * NS_PER_MS,
		.top_n = TOP_EBPF_PROCESSES,
		.by_thread = t->options.by_thread,
		.has_groups = top_by_needs_groups(t->options.by),
		.has_programs = t->options.by == TOP_BY_PROGRAM,
		.only_some = t->options.pids.n || top_options_name_subject(&t->options),
	};

	t->shown = false;
	live_free(TAKE_PTR(t->live));
	if (live_new(&setup, &t->live))
		top_end(t, EXIT_FAILED, "out of memory");
}

static int top_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct top *t = ctx;

	if (t->live)
		live_add_packet(t->live, data, len);
	return 0;
}

static void put_loss(uint64_t n, const char *what, struct strbuf *out)
{
	char number[32];

	if (n)
		strbuf_printf(out, "%s%s %s", out->len ? ", " : "", str_thousands(n, number), what);
}

/* Notes what the service lost of the session, in all its buffers. */
static void top_on_stats(void *ctx, bool at_end, const Pb__TraceStats *stats)
{
	_cleanup_(freep) struct service_stats *s = calloc(1, sizeof(*s));
	struct buffer_stats sum = {0};
	struct top *t = ctx;

	strbuf_clear(&t->lost);
	if (!s)
		return;
	service_stats_from_message(stats, s);
	for (size_t i = 0; i < s->n_buffers; i++) {
		sum.chunks_overwritten += s->buffers[i].chunks_overwritten;
		sum.chunks_discarded += s->buffers[i].chunks_discarded;
		sum.writer_packet_loss += s->buffers[i].writer_packet_loss;
		sum.patches_failed += s->buffers[i].patches_failed;
		sum.abi_violations += s->buffers[i].abi_violations;
	}
	put_loss(sum.chunks_overwritten, "chunks overwritten before they were read", &t->lost);
	put_loss(sum.chunks_discarded, "chunks discarded", &t->lost);
	put_loss(sum.writer_packet_loss, "packets dropped: shared memory full", &t->lost);
	put_loss(sum.patches_failed, "patches failed", &t->lost);
	put_loss(sum.abi_violations, "violations of the protocol", &t->lost);
	put_loss(s->invalid_packets, "invalid packets", &t->lost);
}

/* Called when all packets until the last tick have arrived. Shows the screen once there are rates:
 * they need two polls of /proc/stat, and eBPF programs take a moment to load. */
static int on_caught_up(void *ctx)
{
	struct top *t = ctx;

	if (t->view.paused || !t->live || !live_end_period(t->live))
		return 0;
	if (t->shown || (live_machine(t->live)->has_cpu && live_has_processes(t->live)))
		show_screen(t);
	return 0;
}

static void top_on_end(void *ctx, int error, const char *why)
{
	struct top *t = ctx;
	struct err_text better;

	if (error == -EPIPE && t->daemons && private_daemons_await_failure(t->daemons, &better))
		why = better.text;
	top_end(t, EXIT_FAILED, error ? why : "the tracing service ended the session");
}

static const struct record_session_ops session_ops = {
	.on_state = top_on_state,
	.on_started = on_started,
	.on_stats = top_on_stats,
	.on_packet = top_on_packet,
	.on_caught_up = on_caught_up,
	.on_end = top_on_end,
};

static int start_session(struct top *t, const char *socket, struct err_text *e)
{
	int r = record_session_start(t->loop, socket, t->config, &session_ops, t, e, &t->session);

	if (!r && record_session_read_on_demand(t->session, t->loop))
		r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

static void on_daemons_ready(void *ctx)
{
	struct top *t = ctx;
	struct err_text e;

	if (start_session(t, private_daemons_address(t->daemons), &e))
		top_end(t, EXIT_FAILED, e.text);
}

static void on_daemons_failed(void *ctx, const char *why)
{
	top_end(ctx, EXIT_FAILED, why);
}

static void on_daemons_line(void *ctx, const char *line)
{
	struct top *t = ctx;

	/* On a terminal the screen shows missing counters and losses. */
	if (!t->terminal)
		console_print_line(&t->console, line);
}

static const struct private_daemons_ops daemon_ops = {
	.on_ready = on_daemons_ready,
	.on_failed = on_daemons_failed,
	.on_producer_ended = on_daemons_failed,
	.on_line = on_daemons_line,
};

/* Connects to the service, or starts private daemons if none runs at the default address. */
static int connect_or_start(struct top *t, struct err_text *e)
{
	int r = replace_config(t, e);

	if (!r)
		r = start_session(t, t->options.socket, e);
	if ((r == -ENOENT || r == -ECONNREFUSED) && !t->options.socket)
		r = private_daemons_start(t->loop, NULL, &daemon_ops, t, e, &t->daemons);
	return r;
}

/* Begins a new session with values from other sources. Until it has started, t->live is NULL, so
 * that later ticks do not replace the session again: loading programs may take longer than many
 * periods. */
static void restart_session(struct top *t, enum top_sources sources)
{
	const char *socket = t->daemons ? private_daemons_address(t->daemons) : t->options.socket;
	struct err_text e;

	t->shown = false;
	t->sources = sources;
	live_free(TAKE_PTR(t->live));
	record_session_free(TAKE_PTR(t->session));
	if (replace_config(t, &e) || start_session(t, socket, &e))
		top_end(t, EXIT_FAILED, e.text);
}

/* ---- the ticks ---- */

static void arm_tick(struct top *t)
{
	unsigned after = MIN(t->options.period_ms / AFTER_POLLS_DIVISOR, AFTER_POLLS_MS);
	unsigned ms = clock_ms_to_tick(t->options.period_ms) + after;

	event_timer_ms(t->tick, ms);
}

static void top_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct top *t = ctx;
	const char *why;
	bool late, flush;

	arm_tick(t);
	if (!t->live)
		return;
	if (t->sources != TOP_PROC && live_is_cpu_time_missing(t->live)) {
		/* The first reason is shown in the note. */
		why = live_ebpf_failures(t->live);
		strbuf_clear(&t->no_ebpf);
		strbuf_add(&t->no_ebpf, why, strcspn(why, "\n"));
		if (top_continue_without_ebpf(t, t->no_ebpf.s ? t->no_ebpf.s : ""))
			restart_session(t, TOP_PROC);
		return;
	}
	if (t->sources == TOP_EBPF && live_are_processes_missing(t->live)) {
		if (top_continue_without_ebpf(
			    t, "on this kernel, eBPF counters cannot list processes"))
			restart_session(t, TOP_EBPF_WITHOUT_PROCESSES);
		return;
	}
	/* If the values are late, those that a producer has not committed yet are read, too;
	 * sonda-probes commits each poll. */
	late = !live_newest_time(t->live) || is_update_late(t);
	/* Control groups of new processes are committed only then. */
	flush = late || top_by_needs_groups(t->options.by);
	if (t->session && record_session_catch_up(t->session, flush))
		record_session_request_stats(t->session);
	else if (late)
		draw_screen(t); /* no answer yet: the age of the values is shown */
}

/* ---- keys and signals ---- */

enum top_key { /* of more than one byte */
	       TOP_KEY_ESCAPE = 256,
	       TOP_KEY_UP,
	       TOP_KEY_DOWN,
	       TOP_KEY_OTHER
};

/* Cuts a key off the bytes that a terminal has sent: a byte, or an escape sequence of ECMA-48. */
static int parse_key(const char **bytes, size_t *n)
{
	const char *p = *bytes;
	size_t len = 1;
	int key = (unsigned char)*p;

	if (key == '\033' && *n > 2 && (p[1] == '[' || p[1] == 'O')) {
		for (len = 3; len < *n && (unsigned char)p[len - 1] < '@';)
			len++;
		key = p[len - 1] == 'A'	  ? TOP_KEY_UP
		      : p[len - 1] == 'B' ? TOP_KEY_DOWN
					  : TOP_KEY_OTHER;
	} else if (key == '\033') {
		key = TOP_KEY_ESCAPE;
	}
	*bytes += len;
	*n -= len;
	return key;
}

static void move_selection(struct top *t, int n)
{
	struct top_state s = make_top_state(t);

	top_move_selection(&t->view, &s, n);
}

static void type_filter(struct top *t, int key)
{
	char *filter = t->view.selection.filter;
	size_t len = strlen(filter);

	if (key == '\r' || key == '\n' || key == TOP_KEY_ESCAPE)
		t->view.is_typing = false;
	if (key == TOP_KEY_ESCAPE)
		*filter = '\0';
	else if ((key == '\b' || key == 0x7f) && len)
		filter[len - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && len + 1 < TOP_FILTER_SIZE)
		memcpy(filter + len, (char[]){(char)key, '\0'}, 2);
}

/* Restarts the session, without a selected row, if the present one lacks values for this grouping,
 * or for threads. */
static void ensure_session_for(struct top *t, enum top_by by, bool by_thread)
{
	bool lacks = by_thread != t->options.by_thread ||
		     (top_by_needs_groups(by) && !top_by_needs_groups(t->options.by)) ||
		     (by == TOP_BY_PROGRAM && t->options.by != TOP_BY_PROGRAM);

	if (!lacks)
		return;
	t->options.by = by;
	t->options.by_thread = t->view.by_thread = by_thread;
	t->view.selected = 0;
	restart_session(t, t->sources);
}

static void set_grouping(struct top *t, enum top_by by)
{
	t->view.selection.by = by;
	t->view.selection.within_by = TOP_BY_PROCESS;
	*t->view.selected_key = '\0';
	ensure_session_for(t, by, t->options.by_thread);
}

/* Shows the processes of the selected subject. */
static void enter_subject(struct top *t)
{
	struct top_selection *s = &t->view.selection;

	s->within_by = s->by;
	memcpy(s->within, t->view.selected_key, sizeof(s->within));
	s->by = TOP_BY_PROCESS;
	*t->view.selected_key = '\0';
}

/* Leaves the subject, or removes the filter and the selection. */
static void leave_subject_or_filter(struct top *t)
{
	struct top_selection *s = &t->view.selection;

	if (s->within_by != TOP_BY_PROCESS) {
		memcpy(t->view.selected_key, s->within, sizeof(s->within));
		s->by = s->within_by;
		s->within_by = TOP_BY_PROCESS;
		return;
	}
	t->view.selected = 0;
	*t->view.selected_key = *s->filter = '\0';
}

/* Records the process of the selected row and shows why it waited. If no row is selected, takes the
 * first; if the row is a subject, shows its processes instead. */
static void record_selected(struct top *t)
{
	struct err_text e;
	int r;

	if (!t->view.selected && !*t->view.selected_key)
		move_selection(t, 0);
	if (*t->view.selected_key)
		enter_subject(t);
	if (!t->view.selected)
		return;
	top_terminal_restore(t->terminal);
	r = top_record_process(t->view.selected_tgid, t->view.selected, t->options.socket);
	top_terminal_enter(t->terminal);
	if (r) {
		err_set(&e, r, "cannot record process %d: %s", (int)t->view.selected, strerror(-r));
		top_end(t, EXIT_FAILED, e.text);
	}
}

static void handle_key(struct top *t, int key)
{
	size_t width, height;

	top_terminal_size(t->terminal, &width, &height);
	if (t->view.is_typing) {
		type_filter(t, key);
		return;
	}
	if (key == 'q') {
		top_end(t, EXIT_GOOD, NULL);
		return;
	}
	if (t->view.help) {
		top_view_turn_help_page(&t->view, height);
		return;
	}
	if (key == TOP_KEY_UP || key == 'k')
		move_selection(t, -1);
	else if (key == TOP_KEY_DOWN || key == 'j')
		move_selection(t, 1);
	else if (key == '\r' || key == '\n')
		record_selected(t);
	else if (key == '/')
		t->view.is_typing = true;
	else if (key == TOP_KEY_ESCAPE)
		leave_subject_or_filter(t);
	else if (key == 'H')
		ensure_session_for(t, t->options.by, !t->options.by_thread);
	else if (key == 't')
		t->view.selection.tree = !t->view.selection.tree;
	else if (key == 'b')
		set_grouping(t, (t->view.selection.by + 1) % TOP_BYS);
	else if (key == ' ')
		t->view.paused = !t->view.paused;
	else if (key == 'h' || key == '?')
		t->view.help = true;
	else if (key == '<')
		t->view.selection.sort = top_adjacent_column(&t->view, -1, width);
	else if (key == '>' || key == 's')
		t->view.selection.sort = top_adjacent_column(&t->view, 1, width);
	else if (key >= '1' && key <= '9')
		t->view.selection.sort = top_column_at(&t->view, (size_t)(key - '0'), width);
}

static void on_key(evutil_socket_t fd, short what, void *ctx)
{
	struct top *t = ctx;
	char bytes[64];
	const char *next = bytes;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	size_t left = n > 0 ? (size_t)n : 0;

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			top_end(t, EXIT_GOOD, NULL); /* the terminal is gone */
		return;
	}
	while (left && !t->ended)
		handle_key(t, parse_key(&next, &left));
	if (!t->ended)
		draw_screen(t);
}

static void on_resized(evutil_socket_t fd, short what, void *ctx)
{
	draw_screen(ctx);
}

/* Called for Ctrl-Z: gives the shell its terminal back and stops. raise() returns after SIGCONT. */
static void top_on_stopped(evutil_socket_t fd, short what, void *ctx)
{
	struct top *t = ctx;

	top_terminal_restore(t->terminal);
	raise(SIGSTOP);
}

static void on_continued(evutil_socket_t fd, short what, void *ctx)
{
	struct top *t = ctx;

	top_terminal_restore(t->terminal);
	top_terminal_enter(t->terminal);
	draw_screen(t);
}

static void top_on_signal(void *ctx, int number, bool by_terminal)
{
	top_end(ctx, EXIT_GOOD, NULL);
}

/* ---- start and end of the verb ---- */

static int set_up_terminal(struct top *t)
{
	const struct {
		struct event **event;
		int signal;
		event_callback_fn fn;
	} signals[] = {
		{&t->resized, SIGWINCH, on_resized},
		{&t->stopped, SIGTSTP, top_on_stopped},
		{&t->continued, SIGCONT, on_continued},
	};
	int r = top_terminal_new(t->console.color, &t->terminal);

	for (size_t i = 0; !r && i < ARRAY_SIZE(signals); i++) {
		*signals[i].event = evsignal_new(t->loop, signals[i].signal, signals[i].fn, t);
		if (!*signals[i].event || event_add(*signals[i].event, NULL))
			r = -ENOMEM;
	}
	if (r || !isatty(STDIN_FILENO))
		return r;
	t->key = event_new(t->loop, STDIN_FILENO, EV_READ | EV_PERSIST, on_key, t);
	return t->key && !event_add(t->key, NULL) ? 0 : -ENOMEM;
}

static bool has_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* Checks that the processes and subjects exist, unless the service is on another machine. Returns
 * 0, or -errno and sets e. */
static int check_selected(const struct top_options *o, struct err_text *e)
{
	const char *address = o->socket ? o->socket : sock_default_consumer();

	Pb__SubjectConfig subject = top_options_subject(o);

	if (sock_is_remote(address))
		return 0;
	for (size_t i = 0; i < o->pids.n; i++)
		if (kill((pid_t)o->pids.pids[i], 0) < 0 && errno == ESRCH)
			return err_set(e, -ESRCH, "-p: no process has the ID %u", o->pids.pids[i]);
	return top_options_name_subject(o) ? record_subject_check_names(&subject, true, e) : 0;
}

static int top_prepare(struct top *t, struct err_text *e)
{
	const struct top_options *o = &t->options;
	bool lines = o->batch || o->json || !has_terminal();
	int r = check_selected(o, e);

	if (r)
		return r;

	t->view = (struct top_view){
		.selection = {.by = o->by,
			      .tree = o->tree,
			      .sort = o->sort,
			      .pids = o->pids.pids,
			      .n_pids = o->pids.n},
		.by_thread = o->by_thread,
		.rows = o->rows		    ? o->rows
			: lines && !o->json ? BATCH_ROWS
					    : 0,
		.period_s = o->period_ms / 1000.0,
	};
	t->loop = event_base_new();
	t->tick = t->loop ? evtimer_new(t->loop, top_on_tick, t) : NULL;
	if (!t->tick || termination_signals_watch(t->loop, 0, top_on_signal, t, &t->signals))
		return err_set(e, -ENOMEM, "out of memory");
	if (!lines && set_up_terminal(t))
		return err_set(e, -EIO, "cannot use the terminal; try sonda top --batch");
	return connect_or_start(t, e);
}

static void top_clean_up(struct top *t)
{
	top_terminal_free(t->terminal);
	record_session_free(t->session);
	private_daemons_free(t->daemons);
	pb__trace_config__free_unpacked(t->config, NULL);
	live_free(t->live);
	event_freep(&t->key);
	event_freep(&t->resized);
	event_freep(&t->stopped);
	event_freep(&t->continued);
	event_freep(&t->tick);
	termination_signals_free(t->signals);
	event_base_freep(&t->loop);
	strbuf_deinit(&t->lost);
	strbuf_deinit(&t->note);
	strbuf_deinit(&t->frame);
	strbuf_deinit(&t->no_ebpf);
	top_options_deinit(&t->options);
}

static int print_usage_error(struct top *t, const struct err_text *e)
{
	console_error(&t->console, "top: %s", e->text);
	console_error(&t->console, "see sonda help top");
	return EXIT_USAGE;
}

int cmd_top(int argc, char **argv)
{
	struct top t = {0};
	struct err_text e;
	int r;

	console_init(&t.console, false);
	r = top_options_parse(argc, argv, &t.options, &e);
	if (!r)
		console_set_color(&t.console, t.options.color);
	if (r || t.options.help) {
		if (!r)
			top_print_usage();
		top_options_deinit(&t.options);
		return r ? print_usage_error(&t, &e) : EXIT_GOOD;
	}
	r = top_prepare(&t, &e);
	if (!r) {
		arm_tick(&t);
		draw_screen(&t);
		event_base_dispatch(t.loop);
		r = t.code;
		e = t.why;
	} else {
		r = EXIT_FAILED;
	}
	top_clean_up(&t);
	if (r)
		console_error(&t.console, "%s", e.text);
	return r;
}
