/* SPDX-License-Identifier: Apache-2.0 */
/* sonda open FILE: passes a trace to the Perfetto UI in a browser. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/open/trace_server.h"
#include "cli/terminal/help.h"
#include "cli/terminal/programs.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/sudo_user.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_input.h"

/*
 * Starts the browser as the user who typed the command (with sudo: the user who called sudo), with
 * that user's settings and rights.
 */

enum browser_result {
	BROWSER_STARTED,
	BROWSER_NO_DISPLAY,
	BROWSER_IS_REMOTE, /* an ssh session: the browser is on the other machine */
	BROWSER_IS_ROOT, /* root without sudo: a browser does not run as root; or an unknown user */
	BROWSER_NO_PROGRAM, /* xdg-open is not installed, or no process can be created */
};

#define BROWSER_USERS_MAX 4

#define NO_USER ((uid_t)-1)

/* Returns the user who called sudo, or NO_USER. */
static uid_t sudo_caller(void)
{
	uid_t uid;
	gid_t gid;

	return sudo_user_get(&uid, &gid) ? uid : NO_USER;
}

/* Returns the user who logged in, or NO_USER: the kernel keeps it through su(1) and sudo(8). */
static uid_t login_user(void)
{
	struct strbuf b = {0};
	uint32_t uid = NO_USER;

	if (fs_read_file("/proc/self/loginuid", 64, &b) == 0 && b.s) {
		b.s[strcspn(b.s, "\n")] = '\0';
		if (str_to_u32(b.s, &uid) < 0)
			uid = NO_USER;
	}
	strbuf_deinit(&b);
	return uid;
}

/* Writes the users whose browser may connect: the user of this process and root; if this process
 * runs as root, also the users who called sudo and who logged in. Returns the number of users. */
static size_t browser_users(uid_t ret[static BROWSER_USERS_MAX])
{
	size_t n = 0;

	ret[n++] = geteuid();
	ret[n++] = 0;
	if (geteuid() != 0)
		return n;
	if (sudo_caller() != NO_USER)
		ret[n++] = sudo_caller();
	if (login_user() != NO_USER)
		ret[n++] = login_user();
	return n;
}

static void set_user_variable(const char *name, const char *format, uid_t uid)
{
	char value[64];

	snprintf(value, sizeof(value), format, (unsigned)uid);
	setenv(name, value, 1);
}

/* Becomes the user, and sets the variables by which programs find the user's desktop: sudo drops
 * them. */
static void become_user(const struct passwd *user)
{
	char wayland[64];

	if (initgroups(user->pw_name, user->pw_gid) < 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		_exit(1);
	setenv("HOME", user->pw_dir, 1);
	setenv("USER", user->pw_name, 1);
	setenv("LOGNAME", user->pw_name, 1);
	set_user_variable("XDG_RUNTIME_DIR", "/run/user/%u", user->pw_uid);
	set_user_variable("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/%u/bus", user->pw_uid);
	snprintf(wayland, sizeof(wayland), "/run/user/%u/wayland-0", (unsigned)user->pw_uid);
	if (!getenv("WAYLAND_DISPLAY") && fs_exists(wayland))
		setenv("WAYLAND_DISPLAY", "wayland-0", 1);
}

static void __attribute__((noreturn))
exec_browser(const char *program, const char *url, const struct passwd *user)
{
	char *const args[] = {(char *)program, (char *)url, NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	if (null >= 0)
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	if (user)
		become_user(user);
	if (chdir("/") == 0)
		execv(program, args);
	_exit(127);
}

static bool has_display(uid_t user)
{
	char wayland[64];

	snprintf(wayland, sizeof(wayland), "/run/user/%u/wayland-0", (unsigned)user);
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") ||
	       (user != geteuid() && fs_exists(wayland));
}

/* Opens a page in the browser. It does not wait for the browser, so it makes this process ignore
 * SIGCHLD. */
static enum browser_result browser_open(const char *url)
{
	uid_t uid = sudo_caller() != NO_USER ? sudo_caller() : geteuid();
	const struct passwd *user = uid != geteuid() ? getpwuid(uid) : NULL;
	char program[PATH_MAX];
	pid_t pid;

	if (getenv("SSH_CONNECTION"))
		return BROWSER_IS_REMOTE;
	if (!has_display(uid))
		return BROWSER_NO_DISPLAY;
	if (uid == 0 || (uid != geteuid() && !user))
		return BROWSER_IS_ROOT;
	if (program_find("xdg-open", program, sizeof(program)) < 0)
		return BROWSER_NO_PROGRAM;
	signal(SIGCHLD, SIG_IGN);
	pid = fork();
	if (pid == 0)
		exec_browser(program, url, user);
	return pid < 0 ? BROWSER_NO_PROGRAM : BROWSER_STARTED;
}

#define DEFAULT_UI "https://ui.perfetto.dev"
#define DEFAULT_PORT 9001 /* the only one that the Perfetto UI's content security policy allows */

static const char usage[] =
	"usage: sonda open [OPTION]... FILE\n\n"
	"Opens a trace in the Perfetto UI: serves the file to your browser on 127.0.0.1:9001, and "
	"exits\n"
	"once the browser has fetched it. Nothing leaves this machine.\n\n"
	"  -n, --no-browser   print the address only; do not start a browser\n"
	"      --ui URL       address of your own Perfetto UI; default: "
	"https://ui.perfetto.dev\n"
	"      --port PORT    another port, for your own UI; ui.perfetto.dev allows only 9001\n"
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
			"--ui '%.80s' is not a valid UI address; example: http://localhost:10000",
			text);
	memcpy(o->ui, text, len);
	o->ui[len] = '\0';
	return 0;
}

static int open_handle_option(void *ctx, int option, struct err_text *e)
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
			return err_set(e, -EINVAL, "--port '%.80s' is not a port; example: 9001",
				       optarg);
		o->port = (uint16_t)port;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Returns 0, 1 after the help, or -EINVAL and sets e. */
static int open_parse(int argc, char **argv, struct open_options *o, struct err_text *e)
{
	int r = options_parse(argc, argv, letters, long_options, open_handle_option, o, e);

	if (r > 0)
		help_print(usage);
	if (r)
		return r;
	if (optind == argc)
		return err_set(e, -EINVAL, "FILE is missing");
	if (optind + 1 < argc)
		return err_set(e, -EINVAL, "only one FILE can be given");
	o->file = argv[optind];
	return 0;
}

/* ---- what the user reads ---- */

/* Prints how to reach the port over ssh, if this is a session of ssh: then SSH_CONNECTION is
 * "CLIENT CLIENT_PORT SERVER SERVER_PORT". */
static void print_ssh_command(unsigned port)
{
	const char *connection = getenv("SSH_CONNECTION");
	char server[64], ssh_port[8];
	bool is_standard;

	if (!connection || sscanf(connection, "%*63s %*7s %63s %7s", server, ssh_port) != 2)
		return;
	is_standard = !strcmp(ssh_port, "22");
	printf("Your browser is on another machine. First run this there:\n"
	       "    ssh -N -L %u:127.0.0.1:%u%s%s %s\n",
	       port, port, is_standard ? "" : " -p ", is_standard ? "" : ssh_port, server);
}

static const char *browser_failure_text(enum browser_result r)
{
	switch (r) {
	case BROWSER_NO_DISPLAY:
		return "no display is available";
	case BROWSER_IS_ROOT:
		return "browsers do not run as root";
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
	if (browser_failure_text(r))
		printf("No browser was started: %s.\n", browser_failure_text(r));
	printf("%s\n    %s\n",
	       r == BROWSER_STARTED && !o->no_browser ? "Opening in your browser:"
						      : "Open in a browser:",
	       url);
	puts("Waiting for the browser to fetch the trace; Ctrl-C stops.");
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

	event_base_loopbreak(v->loop);
}

static int explain_listen_error(int r, unsigned port, struct err_text *e)
{
	if (r == -EADDRINUSE)
		return err_set(e, r,
			       "port %u is in use (another sonda open, trace_processor or an ssh "
			       "tunnel); end that program (find it with: ss -ltnp 'sport = :%u')",
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
		return explain_listen_error(r, o->port, e);
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
