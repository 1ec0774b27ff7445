/* SPDX-License-Identifier: Apache-2.0 */
/* sonda trigger NAME...: activates triggers, as a producer without data sources. */

#include <errno.h>

#include "base/event_loop/sock.h"
#include "base/system/log.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/recorder/recorder_state.h"
#include "cli/terminal/verb.h"
#include "cli/trace/activate_triggers.h"
#include "cli/trace/service_help.h"

static const char usage[] =
	"usage: sonda trigger [OPTION]... NAME...\n\n"
	"Activates triggers. Each tracing session whose trigger_config contains one of the names\n"
	"is started, stopped or cloned. The service does not report whether a session matched. A\n"
	"running recorder also receives the names, if this user may write to its socket. It "
	"reacts\n"
	"to 'recorder' and to the names given to it with --on.\n\n"
	"      --dir DIR          notify only the recorder that uses this directory\n"
	"      --socket ADDRESS   address of the service's producer socket\n"
	"  -h, --help         print this help\n";

static void explain_trigger_error(const char *address, int error, struct err_text *e)
{
	if (error == -EPROTO)
		err_set(e, error, "the tracing service on %s refused the triggers", address);
	else
		service_explain(address, error, e);
}

/* Sends the names to the service of a recorder. Returns 0 or -errno; -ENOENT: none runs. */
static int activate_in_recorder(const char *dir, const struct verb_options *o)
{
	struct recorder_state state;
	int r = recorder_dir_is_locked(dir) ? recorder_state_read(dir, &state) : -ENOENT;

	if (r < 0)
		return r;
	return state.producer[0] ? activate_triggers(state.producer, o->words, o->n_words)
				 : -ENOENT;
}

int cmd_trigger(int argc, char **argv)
{
	const char *address;
	struct verb_options o;
	struct err_text e;
	int code = verb_options_parse(argc, argv, "sd", 1, SIZE_MAX, usage, &o), r,
	    recorder = -ENOENT;

	if (code >= 0)
		return code;
	address = o.socket ? o.socket : sock_default_producer();
	if (!o.socket)
		recorder = activate_in_recorder(o.dir ? o.dir : RECORDER_DEFAULT_DIR, &o);
	if (o.dir && recorder < 0) {
		log_error("no recorder uses the directory %s", o.dir);
		return EXIT_FAILED;
	}
	r = o.dir ? 0 : activate_triggers(address, o.words, o.n_words);
	if (r == 0 || recorder == 0)
		return EXIT_GOOD;
	explain_trigger_error(address, r, &e);
	service_explain_no_sessions(address, r, &e, "no session is waiting for the trigger '%.80s'",
				    o.words[0]);
	log_error("%s", e.text);
	return EXIT_FAILED;
}
