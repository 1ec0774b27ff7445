/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	host_link of each machine --- all ready --> the request to each
 *	     |
 *	     +-- trace --> packet_stream --> trace_file --- all ended --> merge_files
 *	     +-- output -> standard output and error
 */

#include "cli/host/record_hosts.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/cut/merge_files.h"
#include "cli/host/host_link.h"
#include "cli/host/packet_stream.h"
#include "cli/report/verb_summary.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_readback.h"

#define CONFIG_MAX (1u << 20) /* bytes of -c */
#define LINE_MAX_BYTES 4096 /* of the output of one of several machines */
#define TICK_MS 1000

struct hosts_run;

/* One machine. */
struct host_run {
	struct hosts_run *all;
	char *label; /* owned: its name without the user and the port */
	struct host_link_setup link_setup;
	struct host_link *link; /* owned */
	struct output_name output; /* of its own trace */
	struct trace_file *file; /* owned */
	uint64_t room; /* bytes that its file system has */
	struct host_clocks clocks;
	uint32_t uid; /* of the recording */
	struct packet_stream packets;
	struct strbuf
		lines[2]; /* incomplete lines of its output and errors, with several machines */
	bool is_ready, has_ended;
	bool failed; /* the connection, or writing the trace */
	bool discard; /* its recording leaves no trace */
	int code;
};

struct hosts_run {
	const struct record_hosts *setup;
	struct event_base *loop;
	struct termination_signals *signals;
	struct event *tick;
	struct output_name output; /* the only or the merged trace */
	struct strbuf config;
	struct host_run *hosts; /* owned array */
	size_t n;
	unsigned interrupts;
	bool has_begun; /* each machine was sent the request to record */
	bool aborted;
	uint64_t started_ns;
};

/* ---- the names of machines ---- */

/* Returns the machine of "user@machine", "ssh://user@machine:22" or "[::1]", with '_' in place of
 * '/'. The caller frees it. Returns NULL if memory runs out. */
static char *host_label(const char *host)
{
	const char *name = str_starts(host, "ssh://") ? host + strlen("ssh://") : host, *end;
	const char *at = strrchr(name, '@');
	char *label;

	name = at ? at + 1 : name;
	if (*name == '[')
		end = strchrnul(++name, ']');
	else
		end = name + (name != host && str_starts(host, "ssh://") ? strcspn(name, ":/")
									 : strlen(name));
	label = strndup(name, (size_t)(end - name));
	for (char *c = label; c && *c; c++)
		if (*c == '/')
			*c = '_';
	return label;
}

int record_hosts_check(const char *const *hosts, size_t n, struct err_text *e)
{
	int r = 0;

	if (n > MERGE_INPUTS_MAX)
		return err_set(e, -EINVAL, "--host: too many machines; the limit is %d",
			       MERGE_INPUTS_MAX);
	for (size_t i = 0; r == 0 && i < n; i++) {
		_cleanup_(freep) char *label = host_label(hosts[i]);

		if (!label)
			return -ENOMEM;
		/* ssh would take a name that begins with '-' as an option. */
		if (hosts[i][0] == '-' || !*label || *label == '-' || *label == '.' ||
		    hosts[i][strcspn(hosts[i], " \t\r\n")])
			return err_set(e, -EINVAL, "--host %.80s: expected [USER@]MACHINE",
				       hosts[i]);
		for (size_t k = 0; r == 0 && k < i; k++) {
			_cleanup_(freep) char *other = host_label(hosts[k]);

			if (other && !strcmp(other, label))
				r = err_set(e, -EINVAL, "--host: '%.80s' is given twice", label);
		}
	}
	return r;
}

/* ---- files ---- */

/* Names the trace of one of several machines: "all.pftrace" becomes "all-web.pftrace". Fails if
 * that file exists. */
static int hosts_own_output(const struct hosts_run *a, const char *label, struct output_name *ret,
			    struct err_text *e)
{
	const char *whole = a->output.text, *slash = strrchr(whole, '/');
	const char *dot = strrchr(slash ? slash : whole, '.');
	size_t len = dot && dot != whole && dot[-1] != '/' ? (size_t)(dot - whole) : strlen(whole);
	int n;

	n = snprintf(ret->text, sizeof(ret->text), "%.*s-%s.pftrace", (int)len, whole, label);
	if (n < 0 || (size_t)n >= sizeof(ret->text))
		return err_set(e, -ENAMETOOLONG, "-o %.80s: the name is too long", whole);
	if (fs_exists(ret->text))
		return err_set(e, -EEXIST,
			       "%s already exists, and the trace of '%s' would be written to it; "
			       "remove the file, or choose another name with -o",
			       ret->text, label);
	return 0;
}

static int hosts_open_files(struct hosts_run *a, struct err_text *e)
{
	const char *output = a->setup->output, *label = a->hosts[0].label;
	bool is_stdout = output && !strcmp(output, "-");
	int r = 0;

	if (is_stdout && isatty(STDOUT_FILENO))
		return trace_file_open_output(output, "trace", &a->output, &a->hosts[0].file,
					      e); /* fails: a trace is not written to a terminal */
	if (is_stdout || !output)
		r = trace_file_default_name("trace", a->n > 1 ? "machines" : label, &a->output, e);
	else
		snprintf(a->output.text, sizeof(a->output.text), "%s", output);
	for (size_t i = 0; r == 0 && i < a->n; i++) {
		struct host_run *h = &a->hosts[i];

		if (a->n > 1)
			r = hosts_own_output(a, h->label, &h->output, e);
		else
			snprintf(h->output.text, sizeof(h->output.text), "%s",
				 is_stdout ? "-" : a->output.text);
		if (r == 0)
			r = trace_file_open(h->output.text, e, &h->file);
		if (r == 0)
			h->room = trace_file_is_regular(h->file) ? trace_file_room(h->file)
								 : UINT64_MAX;
		if (r == 0 && !h->room)
			r = err_set(e, -ENOSPC, "the file system of %s is nearly full",
				    h->output.text);
	}
	if (is_stdout)
		snprintf(a->output.text, sizeof(a->output.text), "standard output");
	if (a->n == 1)
		a->hosts[0].output = a->output;
	return r;
}

/* ---- the end of one machine ---- */

static void host_end(struct host_run *h)
{
	struct hosts_run *a = h->all;

	h->has_ended = true;
	for (size_t i = 0; i < a->n; i++)
		if (!a->hosts[i].has_ended)
			return;
	event_base_loopbreak(a->loop);
}

static void host_on_failed(void *ctx, const char *why)
{
	struct host_run *h = ctx;
	struct hosts_run *a = h->all;

	console_error(a->setup->console, "%s: %s", h->label, why);
	h->failed = true;
	if (a->has_begun) {
		host_end(h);
		return;
	}
	a->aborted = true;
	event_base_loopbreak(a->loop);
}

static void host_on_exit(void *ctx, int code, bool discard)
{
	struct host_run *h = ctx;

	h->code = code;
	h->discard = discard;
	host_end(h);
}

/* Ends the recording of a machine whose trace cannot be written here. */
static void host_stop_writing(struct host_run *h, const char *why)
{
	host_link_free(TAKE_PTR(h->link));
	host_on_failed(h, why);
}

/* ---- what a machine sends ---- */

static int host_on_packet(void *ctx, const uint8_t *packet, size_t len)
{
	struct host_run *h = ctx;

	return trace_file_add_packet(h->file, packet, len);
}

static void host_on_trace(void *ctx, const uint8_t *data, size_t len)
{
	struct host_run *h = ctx;
	int r = h->failed ? 0 : packet_stream_add(&h->packets, data, len, host_on_packet, h);

	if (!r || h->failed)
		return;
	h->failed = true;
	event_active(h->all->tick, 0, 0);
}

/* Prints the complete lines, with the name of the machine before each; all: the last, incomplete
 * one, too. */
static void host_put_lines(struct host_run *h, bool is_error, bool all)
{
	struct strbuf *b = &h->lines[is_error], out = {0};
	char *line = b->s, *end;

	if (!b->s)
		return;
	while ((end = memchr(line, '\n', b->len - (size_t)(line - b->s))) ||
	       (*line && (all || b->len - (size_t)(line - b->s) > LINE_MAX_BYTES))) {
		size_t len = end ? (size_t)(end - line) : b->len - (size_t)(line - b->s);

		strbuf_printf(&out, "%s: ", h->label);
		strbuf_add(&out, line, len);
		strbuf_putc(&out, '\n');
		line += len + (end != NULL);
	}
	b->len -= (size_t)(line - b->s);
	memmove(b->s, line, b->len + 1);
	if (out.s)
		fs_write_all(is_error ? STDERR_FILENO : STDOUT_FILENO, out.s, out.len);
	strbuf_deinit(&out);
}

static void host_on_output(void *ctx, bool is_error, const uint8_t *data, size_t len)
{
	struct host_run *h = ctx;

	console_clear_progress(h->all->setup->console);
	if (h->all->n == 1) {
		fs_write_all(is_error ? STDERR_FILENO : STDOUT_FILENO, data, len);
		return;
	}
	strbuf_add(&h->lines[is_error], data, len);
	host_put_lines(h, is_error, false);
}

static void host_on_copy(void *ctx, uint64_t bytes)
{
	struct host_run *h = ctx;
	char size[32];

	console_print(h->all->setup->console,
		      "%s has no sonda " SONDA_VERSION "; copying it there (%s)", h->label,
		      str_bytes(bytes, size));
}

static void host_on_ready(void *ctx)
{
	struct host_run *h = ctx;
	struct hosts_run *a = h->all;
	struct host_request request = {
		.argc = a->setup->argc,
		.argv = a->setup->argv,
		.output = a->output.text,
		.is_one_of_several = a->n > 1,
		.has_color = a->setup->console->color,
		.has_config = a->setup->config,
		.config = a->config.s,
		.config_len = a->config.len,
	};

	h->is_ready = true;
	h->clocks = *host_link_clocks(h->link);
	h->uid = host_link_uid(h->link);
	for (size_t i = 0; i < a->n; i++)
		if (!a->hosts[i].is_ready)
			return;
	a->has_begun = true;
	a->started_ns = clock_mono_ns();
	for (size_t i = 0; i < a->n; i++) {
		if (host_link_request(a->hosts[i].link, &request) < 0)
			host_on_failed(&a->hosts[i], "the command line is too long");
	}
	if (!a->setup->has_command && console_shows_progress(a->setup->console))
		console_print(a->setup->console, "recording; Ctrl-C stops and saves");
}

static const struct host_link_ops link_ops = {
	.on_copy = host_on_copy,
	.on_ready = host_on_ready,
	.on_trace = host_on_trace,
	.on_output = host_on_output,
	.on_exit = host_on_exit,
	.on_failed = host_on_failed,
};

/* ---- time and signals ---- */

/* Writes what has arrived, and gives the file its name once there is something in it, so that it
 * survives this process. Returns 0, or -errno and sets e. */
static int host_write_out(struct host_run *h, struct err_text *e)
{
	int r = trace_file_flush(h->file);

	if (r)
		return err_set(e, r, "cannot write %s: %s", h->output.text, strerror(-r));
	if (!trace_file_bytes(h->file))
		return 0;
	if (trace_file_bytes(h->file) >= h->room)
		return err_set(e, -ENOSPC,
			       "stopped because the file system of %s is nearly full; the data "
			       "recorded until then is saved",
			       h->output.text);
	return trace_file_assign_name(h->file, e);
}

static void hosts_show_progress(struct hosts_run *a)
{
	uint64_t bytes = 0, ms = (clock_mono_ns() - a->started_ns) / NS_PER_MS;
	char line[80], size[32];

	if (a->setup->has_command || !console_shows_progress(a->setup->console))
		return;
	for (size_t i = 0; i < a->n; i++)
		bytes += trace_file_bytes(a->hosts[i].file);
	snprintf(line, sizeof(line), "  %" PRIu64 ".%" PRIu64 " s  %s", ms / 1000, ms % 1000 / 100,
		 str_bytes(bytes, size));
	console_progress(a->setup->console, line);
}

static void hosts_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct hosts_run *a = ctx;
	struct err_text e;

	for (size_t i = 0; i < a->n; i++) {
		struct host_run *h = &a->hosts[i];

		if (h->has_ended || !h->link)
			continue;
		if (h->failed)
			host_stop_writing(h, "the received trace is damaged");
		else if (host_write_out(h, &e))
			host_stop_writing(h, e.text);
		else
			host_link_tick(h->link);
	}
	if (a->has_begun)
		hosts_show_progress(a);
}

/* Passes the signal to the recordings, or aborts. With a command the first signal is for the
 * command, the second ends the recording, and the third discards it; without a command the second
 * discards it. Before the recordings have started, the first one does. */
static void hosts_on_signal(void *ctx, int number, bool by_terminal)
{
	struct hosts_run *a = ctx;
	unsigned last = a->setup->has_command ? 3 : 2;

	if (!a->has_begun || ++a->interrupts >= last) {
		console_error(a->setup->console, "aborted: nothing was saved");
		a->aborted = true;
		event_base_loopbreak(a->loop);
		return;
	}
	for (size_t i = 0; i < a->n; i++)
		if (a->hosts[i].link)
			host_link_signal(a->hosts[i].link, number);
}

/* ---- the end ---- */

/* Saves the trace of a machine, or removes what must not be kept. Returns true if there is a trace.
 * With several machines the file stays open, for the merge. */
static bool host_save(struct host_run *h)
{
	struct err_text e;
	int r;

	if (h->discard || h->all->aborted || !trace_file_bytes(h->file)) {
		trace_file_remove(h->file);
		return false;
	}
	if (h->all->n == 1) {
		r = trace_file_save(h->file, &e);
	} else {
		r = trace_file_flush(h->file);
		if (r)
			err_set(&e, r, "cannot write %s: %s", h->output.text, strerror(-r));
		else
			r = trace_file_assign_name(h->file, &e);
	}
	if (r && !h->failed)
		console_error(h->all->setup->console, "%s: %s", h->label, e.text);
	h->failed |= r != 0;
	return trace_file_bytes(h->file) > 0;
}

/* Prints the summary of a trace whose machine could not send one. */
static void host_print_summary(struct host_run *h)
{
	const struct verb_summary_form form = {.quiet = h->all->setup->console->quiet};
	_cleanup_(closep) int fd = open(h->output.text, O_RDONLY | O_CLOEXEC);
	struct verb_summary s = {.output = h->output.text};

	err_set(&s.end, 0, "lost the connection to %s", h->label);
	if (fd >= 0 && trace_readback_scan(fd, &s.scan, &s.file_bytes) == 0)
		verb_summary_print(&s, &form);
	verb_summary_deinit(&s);
}

/* Chooses the clocks by which the traces are aligned. The pings measured the offset of each
 * machine's time of day from ours, within half a round trip. If one offset fits all machines, their
 * clocks agree better than the pings can measure, and are used: returns false. Otherwise returns
 * true and sets the measured offsets. */
static bool hosts_choose_clocks(const struct hosts_run *a, struct merge_clocks *ret)
{
	int64_t base = (int64_t)(clock_ns(CLOCK_REALTIME) - clock_boot_ns());
	int64_t least = INT64_MIN, most = INT64_MAX, error = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct host_clocks *c = &a->hosts[i].clocks;
		int64_t real = base + (int64_t)c->local_ns, half = (int64_t)c->trip_ns / 2 + 1;
		int64_t off = (int64_t)c->real_ns - real;

		ret[i] = (struct merge_clocks){(int64_t)c->boot_ns, real};
		least = MAX(least, off - half);
		most = MIN(most, off + half);
		error = MAX(error, half);
	}
	if (least <= most)
		return false;
	console_print(a->setup->console,
		      "the machines' clocks differ by at least %.3f ms; the traces are aligned "
		      "using ssh round trips instead, to within %.3f ms",
		      (double)(least - most) / 1e6, (double)error / 1e6);
	return true;
}

/* Merges the traces of the machines, which are files now, into one. Prints the result, and returns
 * true on success. */
static bool hosts_merge(struct hosts_run *a)
{
	bool is_stdout = a->setup->output && !strcmp(a->setup->output, "-"), merged;
	struct merge_files all = {.out = is_stdout ? "-" : a->output.text, .force = true};
	struct merge_clocks clocks[MERGE_INPUTS_MAX];
	bool measured = hosts_choose_clocks(a, clocks);
	struct strbuf next = {0};
	uint64_t bytes = 0;
	struct err_text e;
	char size[32];

	for (; all.n < a->n; all.n++)
		all.files[all.n] = (struct merge_file){
			.path = a->hosts[all.n].output.text,
			.machine = strdup(a->hosts[all.n].label),
			.clocks = measured ? &clocks[all.n] : NULL,
		};
	merged = merge_files_write(&all, &bytes, &e) == 0;
	merge_files_deinit(&all);
	if (!merged) {
		console_error(a->setup->console, "cannot merge the traces: %s", e.text);
		return false;
	}
	console_print(a->setup->console, "merged the traces from %zu machines: %s%sto %s", a->n,
		      bytes ? str_bytes(bytes, size) : "", bytes ? " " : "", a->output.text);
	strbuf_puts(&next, "next      sonda report ");
	strbuf_put_word(&next, a->output.text);
	if (!is_stdout && !str_ends(a->output.text, ".tar") && !next.failed)
		console_print_line(a->setup->console, next.s);
	strbuf_deinit(&next);
	return true;
}

/* Saves the traces, and returns the exit code. */
static int hosts_end(struct hosts_run *a)
{
	struct console *console = a->setup->console;
	bool merged = a->n > 1 && !a->aborted;
	int code = EXIT_GOOD;
	struct err_text e;

	console_clear_progress(console);
	for (size_t i = 0; i < a->n; i++) {
		struct host_run *h = &a->hosts[i];
		bool saved = host_save(h);

		host_put_lines(h, false, true);
		host_put_lines(h, true, true);
		merged &= saved;
		if (saved && h->failed)
			host_print_summary(h);
		if (!saved && h->uid && h->code == EXIT_FAILED && !a->setup->sudo)
			console_error(console,
				      "%s: sonda did not run as root there; use --host root@%s, or "
				      "--sudo if the user may use sudo without a password",
				      h->label, h->label);
		if (!code)
			code = h->failed ? EXIT_FAILED : h->code;
	}
	if (a->aborted || a->n == 1)
		return a->aborted ? EXIT_FAILED : code;
	merged = merged && hosts_merge(a);
	for (size_t i = 0; i < a->n; i++) {
		struct host_run *h = &a->hosts[i];

		if (merged) {
			trace_file_remove(h->file);
		} else if (trace_file_bytes(h->file) && !h->discard &&
			   trace_file_save(h->file, &e) == 0) {
			console_print(console, "the trace from %s was saved to %s", h->label,
				      h->output.text);
			code = code ? code : EXIT_FAILED;
		}
	}
	return code;
}

/* ---- start and clean-up ---- */

static int hosts_read_config(struct hosts_run *a, struct err_text *e)
{
	const char *path = a->setup->config;
	int r;

	if (!path)
		return 0;
	r = strcmp(path, "-") ? fs_read_file(path, CONFIG_MAX, &a->config)
			      : fs_read_fd(STDIN_FILENO, CONFIG_MAX, &a->config);
	return r ? err_set(e, r, "cannot read the config %s: %s", path,
			   r == -EFBIG ? "too large for a trace config" : strerror(-r))
		 : 0;
}

static int hosts_prepare(struct hosts_run *a, struct err_text *e)
{
	a->hosts = calloc(a->setup->n, sizeof(*a->hosts));
	if (!a->hosts)
		return err_set(e, -ENOMEM, "out of memory");
	for (; a->n < a->setup->n; a->n++) {
		struct host_run *h = &a->hosts[a->n];

		h->all = a;
		h->label = host_label(a->setup->hosts[a->n]);
		h->link_setup = (struct host_link_setup){
			.host = a->setup->hosts[a->n],
			.sudo = a->setup->sudo,
			.ops = &link_ops,
			.ctx = h,
		};
		if (!h->label)
			return err_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

static int hosts_start(struct hosts_run *a, struct err_text *e)
{
	int r = hosts_prepare(a, e);

	if (!r)
		r = hosts_read_config(a, e);
	if (!r)
		r = hosts_open_files(a, e);
	if (r)
		return r;
	a->loop = event_base_new();
	a->tick = a->loop ? event_new(a->loop, -1, EV_PERSIST, hosts_on_tick, a) : NULL;
	if (!a->tick || event_timer_ms(a->tick, TICK_MS) ||
	    termination_signals_watch(a->loop, END_SIGNALS_SAME_MS, hosts_on_signal, a,
				      &a->signals))
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < a->n; i++) {
		a->hosts[i].link_setup.loop = a->loop;
		r = host_link_start(&a->hosts[i].link_setup, e, &a->hosts[i].link);
	}
	return r;
}

static void hosts_clean_up(struct hosts_run *a)
{
	for (size_t i = 0; i < a->n; i++) {
		struct host_run *h = &a->hosts[i];

		host_link_free(h->link);
		trace_file_free(h->file);
		packet_stream_deinit(&h->packets);
		strbuf_deinit(&h->lines[0]);
		strbuf_deinit(&h->lines[1]);
		free(h->label);
	}
	free(a->hosts);
	strbuf_deinit(&a->config);
	termination_signals_free(a->signals);
	event_freep(&a->tick);
	event_base_freep(&a->loop);
}

int record_hosts_run(const struct record_hosts *setup)
{
	struct hosts_run a = {.setup = setup};
	struct err_text e;
	int code = EXIT_FAILED;

	if (hosts_start(&a, &e)) {
		console_error(setup->console, "%s", e.text);
	} else {
		event_base_dispatch(a.loop);
		code = hosts_end(&a);
	}
	hosts_clean_up(&a);
	return code;
}
