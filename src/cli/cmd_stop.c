/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda stop, sonda attach: end a session that sonda record --detach has left in the service.
 *
 *	attach --> (wait for its end, or a signal) --> flush, disable --> (clone) --> read
 *	      \-- the output cannot be opened --> detach
 *
 * Reading takes the data out of a session. So the session is cloned first if the output may not
 * have room for all data. If saving then fails, the clone is detached under the key of the session,
 * and the next sonda stop reads the clone. A session for which the service writes a file is not
 * read.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/report/verb_summary.h"
#include "cli/terminal/verb.h"
#include "cli/trace/service_help.h"
#include "cli/trace/session_client.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_readback.h"

/* State of one run of the verb. */
struct ending {
	struct session_client *client;
	struct session_client *backup; /* owned; has a clone of the ended session, or NULL */
	const struct verb_options *o;
	bool at_once; /* true: stop, false: attach */
	bool has_id; /* id is known */
	uint64_t id; /* of the session */
	bool is_clone; /* the session is the backup of an earlier run: it has ended */
	struct session_end end;
	struct output_name name;
	char written[PATH_MAX + 32]; /* name of the service's file, for the user */
	char first_file[PATH_MAX]; /* first file of a rotation; "": there is one file only */
	struct verb_summary summary;
};

/* Returns true if a clone leaves the buffers of the session as they are. */
static bool clone_keeps_buffers(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_buffers; i++)
		if (config->buffers[i]->transfer_on_clone || config->buffers[i]->clear_before_clone)
			return false;
	return true;
}

/* Returns true if the output is a regular file without RLIMIT_FSIZE, and has room for twice the
 * full buffers: packets are larger in a file than in a buffer, and others may write there, too. */
static bool output_has_room(const struct trace_file *file, const Pb__TraceConfig *config)
{
	struct rlimit limit;
	uint64_t need = 0;

	for (size_t i = 0; i < config->n_buffers; i++)
		need += (uint64_t)config->buffers[i]->size_kb * 1024;
	return trace_file_is_regular(file) && trace_file_room(file) / 2 >= need &&
	       getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* Clones the ended session on a separate connection. Best effort: the service may lack the memory
 * for a clone, and the session is then saved without a backup. */
static void clone_ended_session(struct ending *x)
{
	const struct consumer_clone_request request = {.session_id = x->id};
	struct err_text ignored;
	bool written;

	if (!x->has_id || !clone_keeps_buffers(x->summary.config) ||
	    session_client_open(x->o->socket, &x->backup, &ignored) < 0)
		return;
	if (session_client_clone(x->backup, &request, -1, &written, &ignored) < 0) {
		session_client_free(x->backup);
		x->backup = NULL;
	}
}

/* After a failure, leaves the backup, if there is one, in the service, and adds to e how to save
 * it. Frees the session's client first, because Perfetto's service waits for a consumer that does
 * not read what it has requested. Returns `error`. */
static int keep_clone_in_service(struct ending *x, int error, struct err_text *e)
{
	const char *name = x->o->words[0];
	struct err_text why = *e, ignored;

	if (!x->backup)
		return error;
	session_client_free(TAKE_PTR(x->client));
	if (session_client_detach(x->backup, name, &ignored) < 0)
		return error;
	return err_set(e, error,
		       "%s; the session has ended and the service still holds the trace; save it "
		       "with sonda stop %s -o OTHER-FILE",
		       why.text, name);
}

static int stop_save_trace(struct ending *x, struct trace_file *file, struct err_text *e)
{
	const Pb__TraceConfig *config = x->summary.config;
	int r;

	if (!output_has_room(file, config))
		clone_ended_session(x);
	r = session_client_save(x->client, file, &x->summary.scan, e);
	x->summary.file_is_cut = trace_file_error(file) != 0;
	if (r == -ENODATA && config->trigger_config)
		return err_set(e, r, "the trace is empty: no trigger was activated");
	return r;
}

/* Opens the output before the session is ended. If that fails, detaches the session, which
 * continues. */
static int stop_open_output(struct ending *x, struct trace_file **ret, struct err_text *e)
{
	struct err_text ignored, why;
	int r = trace_file_open_output(x->o->output, "trace", &x->name, ret, &why);

	if (r == 0)
		return 0;
	if (session_client_detach(x->client, x->o->words[0], &ignored) < 0)
		return err_set(e, r, "%s", why.text);
	return err_set(e, r, "%s; the session continues", why.text);
}

/* Queries the counters. Best effort: a service that is shutting down may exit before it answers. */
static void query_final_stats(struct ending *x)
{
	struct verb_summary *s = &x->summary;
	struct err_text ignored;

	s->has_stats = session_client_query_stats(x->client, &s->stats, &ignored) == 0;
	if (x->is_clone)
		s->stats.final_flush_failed = false; /* Perfetto's service sets it in each clone */
}

static void set_end_reason(struct ending *x)
{
	struct verb_summary *s = &x->summary;

	s->flush_failed = x->end.flush_failed;
	if (x->end.aborted.text[0])
		s->end = x->end.aborted;
	else if (x->end.by_signal)
		err_set(&s->end, 0, "stopped by a signal (Ctrl-C)");
	else if (x->at_once)
		err_set(&s->end, 0, "sonda stop");
}

static int end_and_save(struct ending *x, struct err_text *e)
{
	struct trace_file *file = NULL;
	int r = stop_open_output(x, &file, e);

	/* Perfetto's service never reports the end of a clone. */
	if (r == 0 && !x->is_clone)
		r = session_client_end(x->client, x->summary.config, x->at_once, &x->end, e);
	if (r == 0)
		r = stop_save_trace(x, file, e);
	if (r == 0 || x->summary.file_is_cut) {
		x->summary.file_bytes = trace_file_bytes(file);
		x->summary.output = x->name.text;
		query_final_stats(x);
	}
	trace_file_free(file);
	return r < 0 && r != -ENODATA ? keep_clone_in_service(x, r, e) : r;
}

/* Scans the service's file, or all files of a rotation, if this process may read them. -o has no
 * effect on them. */
static int scan_written_files(struct ending *x)
{
	const Pb__TraceConfig *config = x->summary.config;
	struct verb_summary *s = &x->summary;
	_cleanup_(closep) int fd = -1;
	int r;

	if (!config->output_path || !*config->output_path)
		return -ENOENT;
	if (config->rotate) {
		r = trace_readback_scan_files(config, &s->scan, &s->file_bytes, x->first_file);
	} else {
		fd = open(config->output_path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : trace_readback_scan(fd, &s->scan, &s->file_bytes);
	}
	trace_readback_get_output_name(config, x->first_file, x->written, sizeof(x->written));
	return r;
}

static int end_written_session(struct ending *x, struct err_text *e)
{
	struct verb_summary *s = &x->summary;
	int r = session_client_end(x->client, s->config, x->at_once, &x->end, e);

	if (r < 0)
		return r;
	query_final_stats(x);
	snprintf(x->written, sizeof(x->written), "the file given when the session was started");
	r = scan_written_files(x);
	s->output = x->written;
	s->first_file = x->first_file;
	s->file_is_cut = r == -EBADMSG;
	s->unread = r < 0 && r != -EBADMSG;
	return 0;
}

/* Finds the id of the session by its unique_session_name. A clone has the name of its source: if
 * all sessions of this name are clones, x->is_clone is set, because an earlier run left the
 * clone. */
static void find_session(struct ending *x, const Pb__TracingServiceState *state)
{
	const char *name = x->summary.config->unique_session_name;
	size_t n = 0, n_clones = 0;

	for (size_t i = 0; name && *name && i < state->n_tracing_sessions; i++) {
		const Pb__TracingServiceState__TracingSession *s = state->tracing_sessions[i];

		if (!s->unique_session_name || strcmp(s->unique_session_name, name) != 0)
			continue;
		x->id = s->id;
		n++;
		n_clones += s->state && !strcmp(s->state, "CLONED_READ_ONLY");
	}
	x->has_id = n == 1;
	x->is_clone = n > 0 && n == n_clones;
}

static int stop_end_session(struct ending *x, struct err_text *e)
{
	const struct verb_summary_form form = {
		.quiet = x->o->quiet,
		.json = x->o->json,
		.strict = x->o->strict,
	};
	Pb__TracingServiceState *state;
	struct err_text ignored;
	int r = session_client_attach(x->client, x->o->words[0], &x->summary.config, e), code;

	if (r < 0)
		return r;
	if (session_client_query(x->client, false, &state, &ignored) == 0) {
		verb_summary_add_sources(&x->summary, state);
		find_session(x, state);
		pb__tracing_service_state__free_unpacked(state, NULL);
	}
	r = x->summary.config->write_into_file ? end_written_session(x, e) : end_and_save(x, e);
	if (!x->summary.output)
		return r;
	set_end_reason(x);
	code = verb_summary_print(&x->summary, &form);
	if (r == 0 && x->end.aborted.text[0])
		r = err_set(e, -ECONNABORTED, "the tracing service aborted the session: %s",
			    x->end.aborted.text);
	return r < 0 ? r : code;
}

static int stop_check_options(const struct verb_options *o, struct err_text *e)
{
	if (o->json && o->output && !strcmp(o->output, "-"))
		return err_set(e, -EINVAL,
			       "--json and the trace (-o -) cannot both go to standard output");
	return 0;
}

static int stop_run(int argc, char **argv, bool at_once, const char *usage)
{
	struct ending x = {.at_once = at_once};
	struct verb_options o;
	struct err_text e;
	int code = verb_options_parse(argc, argv, "soqjx", 1, 1, usage, &o), r;

	if (code >= 0)
		return code;
	signal(SIGPIPE, SIG_IGN); /* write(2) reports EPIPE and EFBIG */
	signal(SIGXFSZ, SIG_IGN);
	x.o = &o;
	r = stop_check_options(&o, &e);
	if (r == 0)
		r = service_explain_no_sessions(o.socket,
						session_client_open(o.socket, &x.client, &e), &e,
						"there is no session '%.80s' to %s", o.words[0],
						at_once ? "stop" : "attach to");
	if (r == 0)
		r = stop_end_session(&x, &e);
	session_client_free(x.backup);
	session_client_free(x.client);
	verb_summary_deinit(&x.summary);
	if (r >= 0)
		return r;
	log_error("%s", e.text);
	return r == -EINVAL || r == -ENOTTY ? EXIT_USAGE : EXIT_FAILED;
}

#define OPTIONS                                                                                    \
	"  -o, --out FILE     output file, - for standard output\n"                                \
	"                     (default: trace-HOST-TIME-RANDOM.pftrace)\n"                         \
	"      --socket ADDRESS   address of the service's consumer socket\n"                      \
	"      --strict           exit with status 3 if data was lost or requested data is "       \
	"missing\n"                                                                                \
	"      --json             print the summary as JSON on standard output\n"                  \
	"  -q, --quiet        print only errors\n"                                                 \
	"  -h, --help         print this help\n"

int cmd_stop(int argc, char **argv)
{
	return stop_run(argc, argv, true,
			"usage: sonda stop [OPTION]... NAME\n\n"
			"Ends the session started by sonda record --detach NAME and writes its "
			"trace.\n\n" OPTIONS);
}

int cmd_attach(int argc, char **argv)
{
	return stop_run(argc, argv, false,
			"usage: sonda attach [OPTION]... NAME\n\n"
			"Attaches to the session started by sonda record --detach NAME, waits "
			"until the duration\n"
			"elapses or Ctrl-C is pressed, and writes its trace.\n\n" OPTIONS);
}
