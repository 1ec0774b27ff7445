/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/perfetto/perfetto_save.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/trace_scan.h"
#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "cli/perfetto/perfetto_options.h"
#include "cli/trace/answer_message.h"
#include "cli/trace/session_client.h"
#include "cli/trace/trace_file.h"

#define BUGREPORT_NAME "systrace.pftrace"

static int perfetto_save_fail(const char *why)
{
	perfetto_log("%s", why);
	return 1;
}

int perfetto_connect(struct session_client **ret)
{
	struct err_text e;

	if (session_client_open(NULL, ret, &e) == 0)
		return -1;
	perfetto_log("Could not connect to the traced socket %s. Ensure traced is running or use "
		     "tracebox. See https://perfetto.dev/docs/quickstart/linux-tracing.",
		     sock_default_consumer());
	perfetto_log("%s", e.text);
	return 1;
}

int perfetto_print_service_error(const char *why)
{
	perfetto_log("Service error: %s", why);
	return 0;
}

int perfetto_save(struct session_client *client, struct trace_file *file, const char *name)
{
	struct trace_scan scan = {0};
	struct err_text e;
	int r = session_client_save(client, file, &scan, &e);

	trace_scan_deinit(&scan);
	if (r == -ENODATA)
		r = trace_file_save(file, &e);
	if (r < 0)
		return perfetto_save_fail(e.text);
	perfetto_log("Wrote %llu bytes into %s", (unsigned long long)trace_file_bytes(file),
		     strcmp(name, "-") ? name : "stdout");
	return 0;
}

int perfetto_save_written(struct trace_file *file)
{
	struct err_text e;

	if (file && trace_file_save(file, &e))
		return perfetto_save_fail(e.text);
	perfetto_log("Trace written into the output file");
	return 0;
}

static int report_refused_clone(const struct consumer_clone_request *request, const char *why)
{
	struct err_text text;

	if (request->name)
		err_set(&text, 0, "Failed to clone tracing session \"%.100s\": %s", request->name,
			why);
	else
		err_set(&text, 0, "Failed to clone tracing session %llu: %s",
			(unsigned long long)request->session_id, why);
	return perfetto_print_service_error(text.text);
}

int perfetto_clone(const struct consumer_clone_request *request, struct trace_file *file,
		   const char *name)
{
	struct session_client *client = NULL;
	struct err_text e;
	bool written;
	int r, code = perfetto_connect(&client);

	if (code >= 0)
		return code;
	r = session_client_clone(client, request, trace_file_fd(file), &written, &e);
	if (r < 0)
		code = report_refused_clone(
			request, r == -EPROTO ? session_client_clone_refusal(client) : e.text);
	else
		code = written ? perfetto_save_written(file) : perfetto_save(client, file, name);
	session_client_free(client);
	return code;
}

static int clone_to_file(const struct consumer_clone_request *request, const char *path)
{
	struct trace_file *file = NULL;
	struct err_text e;
	int code;

	if (trace_file_open(path, &e, &file)) {
		perfetto_log("Failed to open %s. (%s)", path, e.text);
		return 1;
	}
	code = perfetto_clone(request, file, path);
	trace_file_free(file);
	return code;
}

int perfetto_save_snapshot(const Pb__ObservableEvents__CloneTriggerHit *hit, const char *path,
			   unsigned n)
{
	const struct consumer_clone_trigger trigger = answer_clone_trigger(hit);
	const struct consumer_clone_request request = {
		.session_id = (uint64_t)hit->tracing_session_id,
		.trigger = &trigger,
	};
	char name[PATH_MAX];

	if ((size_t)snprintf(name, sizeof(name), "%s.%u", path, n) >= sizeof(name))
		return perfetto_save_fail("Failed to open the snapshot: its path is too long");
	return clone_to_file(&request, name);
}

/* ---- bug reports ---- */

/* Writes "DIR/name", or "DIR/stem_number.ending" for a number. Returns 0 or -ENAMETOOLONG. */
static int format_bugreport_path(char path[static PATH_MAX], const char *name, unsigned number)
{
	const char *dir = fs_temp_dir(), *dot = strrchr(name, '.');
	int stem = (int)(dot ? (size_t)(dot - name) : strlen(name)), n;

	if (number)
		n = snprintf(path, PATH_MAX, "%s/%.*s_%u%s", dir, stem, name, number,
			     dot ? dot : "");
	else
		n = snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int perfetto_save_for_bugreport(void)
{
	const struct consumer_clone_request request = {
		.session_id = CONSUMER_CLONE_FOR_BUGREPORT,
		.skip_filter = true,
	};
	char path[PATH_MAX];

	perfetto_log("Invoked perfetto with --save-for-bugreport");
	if (format_bugreport_path(path, BUGREPORT_NAME, 0))
		return perfetto_save_fail("The path of TMPDIR is too long");
	return clone_to_file(&request, path);
}

typedef Pb__TracingServiceState__TracingSession session;

/* A session with a bugreport_score, and the path of its file. */
struct report {
	const session *session; /* borrowed */
	char path[PATH_MAX];
};

static int compare_scores(const void *a, const void *b)
{
	const session *x = ((const struct report *)a)->session;
	const session *y = ((const struct report *)b)->session;

	return (x->bugreport_score < y->bugreport_score) -
	       (x->bugreport_score > y->bugreport_score);
}

/* Returns the name of the report's file. It comes from the config of another user: a name that
 * leads out of the directory is not used. */
static const char *file_name(const session *s)
{
	const char *name = s->bugreport_filename;

	return !name || !*name || strchr(name, '/') || *name == '.' ? BUGREPORT_NAME : name;
}

static bool is_path_in_list(const struct report *list, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].path, path))
			return true;
	return false;
}

/* Sets the path of report n to one that no report before it has: its name, or the name with the
 * lowest number that makes it unique. Returns 0 or -ENAMETOOLONG. */
static int choose_report_path(struct report *list, size_t n)
{
	struct report *r = &list[n];
	unsigned number = 0;
	int error;

	do
		error = format_bugreport_path(r->path, file_name(r->session), number++);
	while (!error && is_path_in_list(list, n, r->path));
	return error;
}

static int save_clone_of_session(struct report *list, size_t i)
{
	const session *s = list[i].session;
	const struct consumer_clone_request request = {
		.session_id = s->id,
		.skip_filter = true,
	};

	if (choose_report_path(list, i))
		return perfetto_save_fail("The path of TMPDIR is too long");
	perfetto_log("Cloning tracing session %llu with score %d into %s",
		     (unsigned long long)s->id, s->bugreport_score, list[i].path);
	return clone_to_file(&request, list[i].path);
}

int perfetto_save_all_for_bugreport(void)
{
	_cleanup_(freep) struct report *list = NULL;
	Pb__TracingServiceState *state;
	struct session_client *client = NULL;
	struct err_text e;
	size_t n = 0;
	int code = perfetto_connect(&client);

	if (code >= 0)
		return code;
	code = session_client_query(client, true, &state, &e);
	session_client_free(client);
	if (code < 0)
		return perfetto_save_fail(e.text);
	list = calloc(state->n_tracing_sessions + 1, sizeof(*list));
	for (size_t i = 0; list && i < state->n_tracing_sessions; i++)
		if (state->tracing_sessions[i]->is_started &&
		    state->tracing_sessions[i]->bugreport_score > 0)
			list[n++].session = state->tracing_sessions[i];
	if (!list)
		code = perfetto_save_fail("No memory for the list of sessions");
	else if (n)
		qsort(list, n, sizeof(*list), compare_scores);
	else
		perfetto_log("No tracing sessions eligible for bugreport were found.");
	for (size_t i = 0; i < n; i++)
		if (save_clone_of_session(list, i))
			code = 1;
	pb__tracing_service_state__free_unpacked(state, NULL);
	return code;
}
