/* SPDX-License-Identifier: Apache-2.0 */
/* sonda open FILE: passes a trace to the Perfetto UI in a browser. */

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/open/browser.h"
#include "cli/open/trace_server.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_input.h"

#define DEFAULT_UI "https://ui.perfetto.dev"
#define DEFAULT_PORT 9001 /* the only one that the Perfetto UI's content security policy allows */

static const char usage[] =
	"usage: sonda open [OPTION]... FILE\n\n"
	"Opens a trace in the Perfetto UI: serves the file to your browser on 127.0.0.1:9001, and "
	"ends\n"
	"when the browser has fetched it. Nothing leaves this machine.\n\n"
	"  -n, --no-browser   print the address only; do not start a browser\n"
	"      --ui URL       address of a Perfetto UI of your own; default: "
	"https://ui.perfetto.dev\n"
	"      --port PORT    another port, for a UI of your own; Perfetto's allows 9001 only\n"
	"  -h, --help         print this help\n\n"
	"example: sonda open trace.pftrace\n";

static const char letters[] = ":nh";

static const struct option long_options[] = {
	{"no-browser", no_argument, NULL, 'n'},
	{"ui", required_argument, NULL, 'u'},
	{"port", required_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct open_options {
	const char *file;
	char ui[256]; /* scheme, host and port: without '/' at the end */
	uint16_t port;
	bool no_browser;
};

/* ---- the command line ---- */

/* Stores the address of a page as browsers send it in Origin: scheme, host and port. */
static int parse_ui(const char *text, struct open_options *o, struct err_text *e)
{
	size_t len = strlen(text);
	const char *host = strstr(text, "://");

	while (len && text[len - 1] == '/')
		len--;
	if ((!str_starts(text, "https://") && !str_starts(text, "http://")) ||
	    len >= sizeof(o->ui) || memchr(host + 3, '/', len - (size_t)(host + 3 - text)) ||
	    strcspn(text, " \t\r\n\"<>") < len)
		return err_set(
			e, -EINVAL,
			"--ui %.80s is not the address of a page; example: http://localhost:10000",
			text);
	memcpy(o->ui, text, len);
	o->ui[len] = '\0';
	return 0;
}

static int open_take_option(void *ctx, int option, struct err_text *e)
{
	struct open_options *o = ctx;
	uint32_t port;

	switch (option) {
	case 'n':
		o->no_browser = true;
		return 0;
	case 'u':
		return parse_ui(optarg, o, e);
	case 'p':
		if (str_to_u32(optarg, &port) < 0 || port > UINT16_MAX)
			return err_set(e, -EINVAL, "--port %.80s is not a port; example: 9001",
				       optarg);
		o->port = (uint16_t)port;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Returns 0, 1 after the help, or -EINVAL. */
static int open_parse(int argc, char **argv, struct open_options *o, struct err_text *e)
{
	int r = options_parse(argc, argv, letters, long_options, open_take_option, o, e);

	if (r > 0)
		fputs(usage, stdout);
	if (r)
		return r;
	if (optind == argc)
		return err_set(e, -EINVAL, "FILE is missing");
	if (optind + 1 < argc)
		return err_set(e, -EINVAL, "one file at a time");
	o->file = argv[optind];
	return 0;
}

/* ---- what the user reads ---- */

/* SSH_CONNECTION is "CLIENT CLIENT_PORT SERVER SERVER_PORT". */
static void print_ssh_command(unsigned port)
{
	const char *connection = getenv("SSH_CONNECTION");
	char server[64], ssh_port[8];
	bool is_standard;

	if (!connection || sscanf(connection, "%*63s %*7s %63s %7s", server, ssh_port) != 2)
		return;
	is_standard = !strcmp(ssh_port, "22");
	printf("Your browser is on another machine. Type there first:\n"
	       "    ssh -N -L %u:127.0.0.1:%u%s%s %s\n",
	       port, port, is_standard ? "" : " -p ", is_standard ? "" : ssh_port, server);
}

static const char *why_no_browser(enum browser_result r)
{
	switch (r) {
	case BROWSER_NO_DISPLAY:
		return "there is no display here";
	case BROWSER_IS_ROOT:
		return "a browser does not run as root";
	case BROWSER_NO_PROGRAM:
		return "xdg-open is not installed";
	case BROWSER_STARTED:
	case BROWSER_IS_REMOTE:
		break;
	}
	return NULL;
}

/* Starts a browser unless the user or the environment forbids it, and prints what to open. */
static void open_in_browser(const struct open_options *o, const char *name, unsigned port)
{
	enum browser_result r = BROWSER_STARTED;
	char url[1024];

	snprintf(url, sizeof(url), "%s/#!/?url=http://127.0.0.1:%u/%s", o->ui, port, name);
	print_ssh_command(port);
	if (!o->no_browser)
		r = browser_open(url);
	if (why_no_browser(r))
		printf("No browser is started: %s.\n", why_no_browser(r));
	printf("%s\n    %s\n",
	       r == BROWSER_STARTED && !o->no_browser ? "Your browser opens:"
						      : "Open in a browser:",
	       url);
	puts("Waiting until it has fetched the trace; Ctrl-C ends this.");
	fflush(stdout);
}

/* ---- the file and the server ---- */

static int open_trace(const char *path, int *ret_fd, struct err_text *e)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "cannot open %s: it is not a regular file", path);
	if (!trace_input_is_trace(path))
		return trace_input_explain(path, e);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

struct visit {
	struct event_base *loop;
	bool fetched;
};

static void on_fetched(void *ctx)
{
	struct visit *v = ctx;

	v->fetched = true;
	event_base_loopbreak(v->loop);
}

static void open_on_signal(void *ctx, int number, bool by_terminal)
{
	struct visit *v = ctx;

	(void)number;
	(void)by_terminal;
	event_base_loopbreak(v->loop);
}

static int open_explain(int r, unsigned port, struct err_text *e)
{
	if (r == -EADDRINUSE)
		return err_set(e, r,
			       "port %u of this machine is taken: another sonda open, "
			       "trace_processor or a forward of ssh has it; end that program "
			       "(run: ss -ltnp 'sport = :%u')",
			       port, port);
	return err_set(e, r, "cannot serve on 127.0.0.1:%u: %s", port, strerror(-r));
}

static int open_serve(const struct open_options *o, int fd, struct err_text *e)
{
	_cleanup_(event_base_freep) struct event_base *loop = event_base_new();
	_cleanup_(trace_server_freep) struct trace_server *server = NULL;
	struct termination_signals *signals = NULL;
	uid_t users[BROWSER_USERS_MAX];
	struct visit v = {.loop = loop};
	char name[256];
	int r;

	const struct trace_server_config config = {
		.fd = fd,
		.name = name,
		.origin = o->ui,
		.port = o->port,
		.users = users,
		.n_users = browser_users(users),
		.on_fetched = on_fetched,
		.ctx = &v,
	};

	trace_server_make_name(o->file, name, sizeof(name));
	r = loop ? trace_server_new(loop, &config, &server) : -ENOMEM;
	if (r < 0)
		return open_explain(r, o->port, e);
	r = termination_signals_watch(loop, 0, open_on_signal, &v, &signals);
	if (r < 0)
		return err_set(e, r, "cannot watch signals: %s", strerror(-r));
	open_in_browser(o, name, trace_server_port(server));
	event_base_dispatch(loop);
	if (v.fetched)
		puts("The browser has fetched the trace.");
	termination_signals_free(signals);
	return 0;
}

int cmd_open(int argc, char **argv)
{
	struct open_options o = {.ui = DEFAULT_UI, .port = DEFAULT_PORT};
	_cleanup_(closep) int fd = -1;
	struct err_text e;
	int r = open_parse(argc, argv, &o, &e);

	if (r > 0)
		return EXIT_GOOD;
	if (r < 0) {
		log_error("open: %s", e.text);
		log_error("see sonda help open");
		return EXIT_USAGE;
	}
	r = open_trace(o.file, &fd, &e);
	if (r == 0)
		r = open_serve(&o, fd, &e);
	if (r == 0)
		return EXIT_GOOD;
	log_error("open: %s", e.text);
	return EXIT_FAILED;
}
