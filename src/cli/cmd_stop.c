/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda stop, sonda attach: the ends of a session that sonda record --detach has left with the
 * service.
 *
 *	attach --> (wait for its end, or a signal) --> flush, disable --> read, or the file is written
 *	      \-- no place for the trace --> detach
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/output.h"
#include "cli/session_client.h"
#include "cli/trace_file.h"
#include "cli/verb.h"
#include "cli/verb_options.h"
#include "cli/written_trace.h"

static int save(struct session_client *client, const Pb__TraceConfig *config,
		struct trace_file *file, struct err_text *e)
{
	int r = session_client_save(client, file, e);

	if (r == -ENODATA && config->trigger_config)
		return err_set(e, r, "the trace is empty: no trigger came");
	return r;
}

/* -o comes too late for it. */
static void explain_file(const Pb__TraceConfig *config, const struct verb_options *o)
{
	char name[1024] = "the file that it was given";

	if (o->quiet && !o->output)
		return;
	if (config->output_path && *config->output_path)
		written_trace_name(config, name, sizeof(name));
	log_info("the service has written the trace into %s", name);
}

/* The file comes first: without a place for it the session is better left as it is. */
static int open_output(struct session_client *client, const struct verb_options *o,
		       struct output_name *name, struct trace_file **ret, struct err_text *e)
{
	struct err_text ignored, why;
	int r = output_open(o->output, "trace", name, ret, &why);

	if (r == 0)
		return 0;
	if (session_client_detach(client, o->words[0], &ignored) < 0)
		return err_set(e, r, "%s", why.text);
	return err_set(e, r, "%s; the session goes on", why.text);
}

static int end_and_save(struct session_client *client, const struct verb_options *o,
			const Pb__TraceConfig *config, bool at_once, struct err_text *e)
{
	struct trace_file *file = NULL;
	struct output_name name;
	char number[32];
	int r = open_output(client, o, &name, &file, e);

	if (r == 0)
		r = session_client_end(client, config, at_once, e);
	if (r == 0)
		r = save(client, config, file, e);
	if (r == 0 && !o->quiet)
		log_info("%s to %s", str_bytes(trace_file_bytes(file), number), name.text);
	trace_file_free(file);
	return r;
}

static int end_session(struct session_client *client, const struct verb_options *o, bool at_once,
		       struct err_text *e)
{
	Pb__TraceConfig *config;
	int r = session_client_attach(client, o->words[0], &config, e);

	if (r < 0)
		return r;
	if (config->write_into_file) {
		r = session_client_end(client, config, at_once, e);
		if (r == 0)
			explain_file(config, o);
	} else {
		r = end_and_save(client, o, config, at_once, e);
	}
	pb__trace_config__free_unpacked(config, NULL);
	return r;
}

static int run(int argc, char **argv, bool at_once, const char *usage)
{
	struct session_client *client;
	struct verb_options o;
	struct err_text e;
	int code = verb_options_parse(argc, argv, "soq", 1, 1, usage, &o), r;

	if (code >= 0)
		return code;
	r = session_client_open(o.socket, &client, &e);
	if (r == 0) {
		r = end_session(client, &o, at_once, &e);
		session_client_free(client);
	}
	if (r == 0)
		return EXIT_GOOD;
	log_error("%s", e.text);
	return r == -EINVAL || r == -ENOTTY ? EXIT_USAGE : EXIT_FAILED;
}

#define OPTIONS                                                                                    \
	"  -o, --out FILE     - is standard output (default trace-HOST-TIME-RANDOM.pftrace)\n"     \
	"      --socket ADDRESS   of the service's consumer socket\n"                              \
	"  -q, --quiet        only errors\n"                                                       \
	"  -h, --help         this text\n"

int cmd_stop(int argc, char **argv)
{
	return run(argc, argv, true,
		   "usage: sonda stop [OPTION]... NAME\n\n"
		   "Ends the session that sonda record --detach NAME has begun, and writes its "
		   "trace.\n\n" OPTIONS);
}

int cmd_attach(int argc, char **argv)
{
	return run(
		argc, argv, false,
		"usage: sonda attach [OPTION]... NAME\n\n"
		"Takes over the session that sonda record --detach NAME has begun: waits until its "
		"time is\nover or Ctrl-C, and writes its trace.\n\n" OPTIONS);
}
