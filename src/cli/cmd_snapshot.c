/* SPDX-License-Identifier: Apache-2.0 */
/* sonda snapshot: saves the current data of a running session as a trace; the session continues. */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/recorder/recorder_snapshot.h"
#include "cli/report/verb_summary.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/trace/service_help.h"
#include "cli/trace/session_client.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_input.h"
#include "cli/trace/trace_readback.h"

static const char usage[] =
	"usage: sonda snapshot [OPTION]... [SESSION]\n\n"
	"Writes the current contents of a running session to a file; the session keeps "
	"recording.\n"
	"SESSION is a session's number or unique_session_name (sonda sessions lists both). If "
	"only\n"
	"one session is running, SESSION can be omitted.\n\n"
	"  -o, --out FILE     output file, - for standard output\n"
	"                     (default: snapshot-HOST-TIME-RANDOM.pftrace)\n"
	"      --last TIME    recorder only: save only the last TIME, such as 5m\n"
	"      --dir DIR      recorder only: directory of the ring (default: "
	"/var/lib/sonda/recorder)\n"
	"      --bugreport    use the session with the highest bugreport_score\n"
	"      --socket ADDRESS   address of the service's consumer socket\n"
	"      --strict           exit with status 3 if data was lost or requested data is "
	"missing\n"
	"      --json             print the summary as JSON on standard output\n"
	"  -q, --quiet        print only errors\n"
	"  -h, --help         print this help\n";

static bool can_be_cloned(const Pb__TracingServiceState__TracingSession *s)
{
	return !s->state || strcmp(s->state, "CLONED_READ_ONLY") != 0;
}

/* Sets *ret to the only session that can be cloned. Returns 0; or, and sets e, -ENOENT if there is
 * none, -EINVAL if there are several. */
static int snapshot_choose_session(const Pb__TracingServiceState *state, uint64_t *ret,
				   struct err_text *e)
{
	size_t n = 0;

	for (size_t i = 0; i < state->n_tracing_sessions; i++)
		if (can_be_cloned(state->tracing_sessions[i])) {
			*ret = state->tracing_sessions[i]->id;
			n++;
		}
	if (n == 0)
		return err_set(e, -ENOENT,
			       "no session is running, so there is nothing to snapshot");
	if (n > 1)
		return err_set(e, -EINVAL,
			       "%zu sessions are running; name one (sonda sessions lists them)", n);
	return 0;
}

static int snapshot_find_session(struct session_client *client, const struct verb_options *o,
				 struct consumer_clone_request *ret, struct err_text *e)
{
	Pb__TracingServiceState *state;
	int r;

	if (o->bugreport) {
		ret->session_id = CONSUMER_CLONE_FOR_BUGREPORT;
		return 0;
	}
	if (o->n_words > 0) {
		if (str_to_u64(o->words[0], &ret->session_id) < 0)
			ret->name = o->words[0];
		return 0;
	}
	r = session_client_query(client, true, &state, e);
	if (r < 0)
		return r;
	r = snapshot_choose_session(state, &ret->session_id, e);
	pb__tracing_service_state__free_unpacked(state, NULL);
	return r;
}

/* Adds to the error the name that was probably meant, or else where the names are listed. */
static int snapshot_suggest_session(struct session_client *client, const struct verb_options *o,
				    int error, struct err_text *e)
{
	char nearest[STR_NEAREST_SIZE];
	struct err_text why = *e;

	if (o->n_words == 0)
		return error;
	if (session_client_nearest_name(client, o->words[0], nearest))
		return err_set(e, error, "cannot take a snapshot of '%.100s': %s; did you mean %s?",
			       o->words[0], why.text, nearest);
	return err_set(e, error, "cannot take a snapshot of '%.100s': %s; see sonda sessions",
		       o->words[0], why.text);
}

/* Scans the trace that the service has written, and gives the file its final name. */
static int save_written_trace(struct trace_file *file, struct verb_summary *s, struct err_text *e)
{
	uint64_t bytes;
	int r = trace_file_update_size(file);

	if (r < 0)
		return err_set(e, r, "cannot read the new snapshot: %s", strerror(-r));
	s->unread = trace_readback_scan(trace_file_fd(file), &s->scan, &bytes) < 0;
	return trace_file_save(file, e);
}

static int snapshot_take(struct session_client *client, const struct verb_options *o,
			 struct trace_file *file, struct verb_summary *s, struct err_text *e)
{
	struct consumer_clone_request request = {0};
	Pb__TracingServiceState *state;
	struct err_text ignored;
	bool written;
	int r = snapshot_find_session(client, o, &request, e);

	if (r < 0)
		return r;
	r = session_client_clone(client, &request, trace_file_fd(file), &written, e);
	if (r < 0)
		return r == -EPROTO ? snapshot_suggest_session(client, o, r, e) : r;
	r = written ? save_written_trace(file, s, e)
		    : session_client_save(client, file, &s->scan, e);
	s->file_is_cut = trace_file_error(file) != 0;
	s->file_bytes = trace_file_bytes(file);
	if (session_client_query(client, false, &state, &ignored) == 0) {
		verb_summary_add_sources(s, state);
		pb__tracing_service_state__free_unpacked(state, NULL);
	}
	return r;
}

/* ---- a snapshot of the recorder ---- */

static bool is_from_recorder(const struct verb_options *o)
{
	return o->last || o->dir || (o->n_words && !strcmp(o->words[0], "recorder") && !o->socket);
}

/* Warns if the kernel (--in-kernel) has overwritten a part of the requested time. */
static void warn_if_overwritten(const struct ftrace_scan *scan, int64_t last_ns)
{
	struct ring_overwrites o;
	uint64_t covered_ns;

	if (!last_ns || !ftrace_scan_overwrites(scan, &o) || o.complete_ns > scan->last_ns)
		return;
	covered_ns = scan->last_ns - o.complete_ns;
	if (o.complete_ns && covered_ns < (uint64_t)last_ns)
		log_warn("the snapshot covers only the last %.1f s, not %.0f s, because the kernel "
			 "overwrote older events; enable the recorder with a larger --size",
			 (double)covered_ns / 1e9, (double)last_ns / 1e9);
}

static int snapshot_copy_from_recorder(const struct verb_options *o, struct trace_file *file,
				       struct verb_summary *s, struct err_text *e)
{
	struct recorder_snapshot snapshot;
	int64_t last_ns = 0;
	int r = 0;

	if (o->socket || o->bugreport || (o->n_words && strcmp(o->words[0], "recorder") != 0))
		return err_set(e, -EINVAL,
			       "--last and --dir apply only to the recorder; example: sonda "
			       "snapshot --last 5m recorder");
	if (o->last)
		r = trace_input_parse_time("--last", o->last, 1, &last_ns, e);
	if (r == 0)
		r = recorder_snapshot_write(o->dir ? o->dir : RECORDER_DEFAULT_DIR,
					    (uint64_t)last_ns, file, &snapshot, e);
	if (r < 0)
		return r;
	if (snapshot.not_live.text[0])
		log_warn("the newest data is missing: %s", snapshot.not_live.text);
	s->goes_on = snapshot.is_live;
	s->file_bytes = snapshot.bytes;
	if (o->quiet && !o->strict && !o->json)
		return trace_file_save(file, e); /* the summary is not needed */
	r = trace_file_flush(file);
	if (r < 0)
		return err_set(e, r, "cannot write the snapshot: %s", strerror(-r));
	r = save_written_trace(file, s, e);
	if (r == 0)
		warn_if_overwritten(&s->scan.ftrace, last_ns);
	return r;
}

static int snapshot_run(const struct verb_options *o, struct output_name *name,
			struct verb_summary *summary, struct err_text *e)
{
	struct session_client *client = NULL;
	struct trace_file *file = NULL;
	int r = 0;

	if (o->json && o->output && !strcmp(o->output, "-"))
		return err_set(e, -EINVAL,
			       "--json and the trace (-o -) cannot both go to standard output");
	if (is_from_recorder(o)) {
		mapped_trace_handle_sigbus();
		r = trace_file_open_output(o->output, "snapshot", name, &file, e);
		if (r == 0)
			r = snapshot_copy_from_recorder(o, file, summary, e);
		trace_file_free(file);
		return r;
	}
	r = service_explain_no_sessions(o->socket, session_client_open(o->socket, &client, e), e,
					"there is no session%s%.80s%s to save",
					o->n_words ? " '" : "", o->n_words ? o->words[0] : "",
					o->n_words ? "'" : "");
	if (r == 0)
		r = trace_file_open_output(o->output, "snapshot", name, &file, e);
	if (r == 0)
		r = snapshot_take(client, o, file, summary, e);
	trace_file_free(file);
	session_client_free(client);
	return r;
}

int cmd_snapshot(int argc, char **argv)
{
	struct verb_summary summary = {.goes_on = true};
	struct output_name name;
	struct verb_options o;
	struct err_text e;
	int code = verb_options_parse(argc, argv, "soqbjxdl", 0, 1, usage, &o), r;

	if (code >= 0)
		return code;
	signal(SIGPIPE, SIG_IGN); /* write(2) reports EPIPE and EFBIG */
	signal(SIGXFSZ, SIG_IGN);
	r = snapshot_run(&o, &name, &summary, &e);
	code = r == 0 ? EXIT_GOOD : r == -EINVAL || r == -ENOTTY ? EXIT_USAGE : EXIT_FAILED;
	summary.output = name.text;
	if (r == 0 || summary.file_is_cut) {
		const struct verb_summary_form form = {
			.quiet = o.quiet, .json = o.json, .strict = o.strict};
		int verdict = verb_summary_print(&summary, &form);

		code = code ? code : verdict;
	}
	if (r < 0)
		log_error("%s", e.text);
	verb_summary_deinit(&summary);
	return code;
}
