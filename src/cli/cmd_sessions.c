/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda sessions: which sessions a tracing service has. sonda status: that, who records for it, and
 * what they offer.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/core/mem.h"
#include "cli/trace/session_client.h"
#include "cli/state_text.h"
#include "cli/terminal/verb.h"
#include "cli/terminal/verb_options.h"
#include "config/json.h"

static int ask(const char *socket, bool sessions_only, Pb__TracingServiceState **ret)
{
	struct session_client *client;
	struct err_text e;
	int r = session_client_open(socket, &client, &e);

	if (r == 0) {
		r = session_client_query(client, sessions_only, ret, &e);
		session_client_free(client);
	}
	if (r < 0)
		log_error("%s", e.text);
	return r;
}

/* The message as it is, for other programs. */
static void print_raw(const Pb__TracingServiceState *state, struct strbuf *out)
{
	size_t len = pb__tracing_service_state__get_packed_size(state);
	char *to = strbuf_reserve(out, len);

	if (to)
		out->len += pb__tracing_service_state__pack(state, (uint8_t *)to);
}

static void print_json(const Pb__TracingServiceState *state, struct strbuf *out)
{
	json_print(&state->base, out);
	strbuf_putc(out, '\n');
}

static void print_all(const Pb__TracingServiceState *state, struct strbuf *out)
{
	const char *version = state->tracing_service_version;

	strbuf_printf(out, "Service: %s\n\n", version ? version : "does not say its version");
	state_text_sessions(state, out);
	strbuf_putc(out, '\n');
	state_text_producers(state, out);
}

static int print(int argc, char **argv, bool sessions_only, const char *usage)
{
	Pb__TracingServiceState *state;
	struct strbuf text = {0};
	struct verb_options o;
	int code = verb_options_parse(argc, argv, "srj", 0, 0, usage, &o);

	if (code >= 0)
		return code;
	if (ask(o.socket, sessions_only, &state) < 0)
		return EXIT_FAILED;
	if (o.raw)
		print_raw(state, &text);
	else if (o.json)
		print_json(state, &text);
	else if (sessions_only)
		state_text_sessions(state, &text);
	else
		print_all(state, &text);
	pb__tracing_service_state__free_unpacked(state, NULL);
	if (!o.raw && text.s)
		str_make_plain(text.s, text.len, "\n");
	code = text.failed || fs_write_all(STDOUT_FILENO, text.s, text.len) < 0;
	if (code)
		log_error("cannot write to standard output");
	strbuf_deinit(&text);
	return code ? EXIT_FAILED : EXIT_GOOD;
}

int cmd_sessions(int argc, char **argv)
{
	return print(argc, argv, true,
		     "usage: sonda sessions [--socket ADDRESS] [--json | --raw]\n\n"
		     "Lists the tracing sessions of this user; root sees all.\n\n"
		     "  --socket ADDRESS   of the service's consumer socket\n"
		     "  --json             a TracingServiceState as JSON, for programs\n"
		     "  --raw              a serialized TracingServiceState, for programs\n"
		     "  -h, --help         this text\n");
}

int cmd_status(int argc, char **argv)
{
	return print(
		argc, argv, false,
		"usage: sonda status [--socket ADDRESS] [--json | --raw]\n\n"
		"Tells of the tracing service: its sessions, the producers that are connected, "
		"and their\ndata sources.\n\n"
		"  --socket ADDRESS   of the service's consumer socket\n"
		"  --json             a TracingServiceState as JSON, for programs\n"
		"  --raw              a serialized TracingServiceState, for programs\n"
		"  -h, --help         this text\n");
}
