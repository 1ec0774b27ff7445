/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/open/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/terminal/programs.h"
#include "cli/terminal/sudo_user.h"

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

size_t browser_users(uid_t ret[static BROWSER_USERS_MAX])
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
static void become(const struct passwd *user)
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
run(const char *program, const char *url, const struct passwd *user)
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
		become(user);
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

enum browser_result browser_open(const char *url)
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
		run(program, url, user);
	return pid < 0 ? BROWSER_NO_PROGRAM : BROWSER_STARTED;
}
