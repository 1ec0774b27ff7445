/* SPDX-License-Identifier: Apache-2.0 */
/* sonda ship SPOOL s3://BUCKET: uploads traces and their tables. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/system/notify.h"
#include "base/text/str.h"
#include "cli/s3/s3_credentials.h"
#include "cli/ship/ship_collect.h"
#include "cli/ship/ship_compact.h"
#include "cli/ship/ship_options.h"
#include "cli/ship/ship_upload.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"

#define SLEEP_SLICE_MS 100

static volatile sig_atomic_t ship_stop;

static void ship_on_signal(int number)
{
	ship_stop = 1;
}

static void ship_watch_signals(void)
{
	const struct sigaction stop = {.sa_handler = ship_on_signal};
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGHUP, &stop, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

static void ship_sleep(uint32_t ms)
{
	for (uint32_t slept = 0; slept < ms && !ship_stop; slept += SLEEP_SLICE_MS)
		poll(NULL, 0, (int)MIN(ms - slept, (uint32_t)SLEEP_SLICE_MS));
}

/* ---- collecting ---- */

static int ship_collect(const struct ship_options *o)
{
	char count[STR_COUNT_SIZE];
	struct ship_collector *c;
	struct err_text e = {""};
	unsigned later;

	s3_credentials_unset_environment();
	if (ship_collector_open(o, &ship_stop, &c, &e) < 0) {
		log_error("ship: %s", e.text);
		return EXIT_FAILED;
	}
	do {
		later = ship_collector_pass(c);
		if (!o->once)
			ship_sleep(o->every_ms);
	} while (!o->once && !ship_stop);
	ship_collector_close(c);
	if (!o->once || !later)
		return EXIT_GOOD;
	log_error("ship: %s not added to the spool; see the messages above",
		  str_count(later, "trace", count));
	return EXIT_FAILED;
}

static int ship_wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Starts the process that collects: a process of its own, since the sources may be overwritten
 * while the network is down. It starts before this process has the keys of the store. Returns its
 * pid, or -1. */
static pid_t ship_start_collector(const struct ship_options *o)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(getppid() == parent ? ship_collect(o) : EXIT_FAILED);
	}
	if (pid < 0)
		log_error("ship: cannot start a process: %s", strerror(errno));
	return pid;
}

/* Returns true if the process has ended, which it does only after an error, and sets *pid to 0. */
static bool ship_lost_collector(pid_t *pid)
{
	if (*pid <= 0 || waitpid(*pid, NULL, WNOHANG) != *pid)
		return false;
	*pid = 0;
	if (!ship_stop)
		log_error("ship: the collector process has exited");
	return true;
}

/* ---- uploading ---- */

/* Uploads until a signal or an error; once with --once. *collector: the pid of the process that
 * collects; 0: none; becomes 0 when it has ended. Returns an exit code. */
static int ship_upload(const struct ship_options *o, pid_t *collector, struct notify *notify)
{
	struct ship_uploader *u = NULL;
	struct err_text e = {""};
	int r = ship_uploader_open(o, &ship_stop, &u, &e), code = EXIT_GOOD;

	if (r == 0 && notify_ready(notify, &e) < 0)
		log_warn("%s", e.text);
	while (r == 0) {
		r = ship_uploader_pass(u, &e);
		if (ship_lost_collector(collector)) {
			code = ship_stop ? EXIT_GOOD : EXIT_FAILED;
			break;
		}
		if (o->once || ship_stop)
			break;
		if (r == 0)
			ship_sleep(o->every_ms);
	}
	ship_uploader_close(u);
	if (r < 0)
		log_error("ship: %s", e.text);
	return r < 0 ? EXIT_FAILED : code;
}

static int ship_merge(const struct ship_options *o)
{
	struct err_text e = {""};
	int r = ship_compact(o, &ship_stop, &e);

	if (r == 0)
		return EXIT_GOOD;
	if (r == -EAGAIN)
		log_error("ship: some traces were not merged; see the messages above");
	else if (r == -EINTR)
		log_error("ship: stopped; the next --compact continues");
	else
		log_error("ship: %s", e.text);
	return EXIT_FAILED;
}

static int ship_run(const struct ship_options *o, struct notify *notify)
{
	int collected = EXIT_GOOD, code;
	struct err_text e = {""};
	pid_t pid = 0;

	if (o->compact)
		return ship_merge(o);
	if (!o->uploads) {
		if (notify_ready(notify, &e) < 0)
			log_warn("%s", e.text);
		return ship_collect(o);
	}
	if (o->n_from)
		pid = ship_start_collector(o);
	if (pid < 0)
		return EXIT_FAILED;
	if (pid > 0 && o->once) {
		collected = ship_wait_for(pid);
		pid = 0;
	}
	code = ship_upload(o, &pid, notify);
	if (pid > 0) {
		kill(pid, SIGTERM);
		(void)ship_wait_for(pid);
	}
	return code ? code : collected;
}

int cmd_ship(int argc, char **argv)
{
	static struct ship_options o;
	struct notify notify;
	struct err_text e = {""};
	int code;

	if (ship_options_parse(argc, argv, &o, &e) < 0) {
		log_error("ship: %s", e.text);
		log_error("see sonda help ship");
		return EXIT_USAGE;
	}
	if (o.help) {
		help_print(ship_usage);
		return EXIT_GOOD;
	}
	/* Core dumps must not contain the keys. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* The uploader may be another user, of the spool's group. */
	umask(0027);
	ship_watch_signals();
	if (notify_open(&notify, "SONDA_SHIP_NOTIFY_FD", &e) < 0)
		log_warn("%s", e.text);
	code = ship_run(&o, &notify);
	notify_close(&notify);
	return code;
}
