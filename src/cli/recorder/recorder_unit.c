/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/terminal/programs.h"

#define ARGS_DIR "/etc/sonda"
#define SYSTEMD_RUNS "/run/systemd/system" /* sd_booted(3) */

/* ---- systemctl ---- */

/* Runs systemctl with up to three arguments; quiet: without its messages. Returns its exit code, or
 * -errno and sets e. */
static int run_systemctl(bool quiet, const char *const args[static 3], struct err_text *e)
{
	char path[PATH_MAX];
	int status;
	pid_t pid;

	if (program_find("systemctl", path, sizeof(path)))
		return err_set(e, -ENOENT, "systemctl is not in PATH");
	pid = fork();
	if (pid < 0)
		return err_set(e, -errno, "cannot run systemctl: %s", strerror(errno));
	if (pid == 0) {
		char *const argv[] = {(char *)"systemctl", (char *)args[0], (char *)args[1],
				      (char *)args[2], NULL};
		int null = quiet ? open("/dev/null", O_WRONLY) : -1;

		if (null >= 0) {
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
		}
		execv(path, argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(e, -errno, "cannot wait for systemctl: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int check_systemd(const struct recorder_options *o, struct err_text *e)
{
	int r = 0;

	if (!fs_exists(SYSTEMD_RUNS))
		return err_set(
			e, -ENOENT,
			"systemd is not running; have another supervisor run: sonda recorder "
			"run --dir %.200s",
			o->dir);
	r = run_systemctl(true, (const char *const[]){"cat", RECORDER_UNIT, NULL}, e);
	if (r > 0)
		return err_set(e, -ENOENT,
			       "systemd has no unit " RECORDER_UNIT
			       "; install it with the package, or "
			       "run: make install && systemctl daemon-reload");
	return r;
}

static int run_systemctl_verb(const char *verb, const char *option, struct err_text *e)
{
	const char *const args[] = {verb, RECORDER_UNIT, option};
	int r = run_systemctl(false, args, e);

	return r > 0 ? err_set(e, -EIO,
			       "systemctl %s " RECORDER_UNIT
			       " failed; see: journalctl -u " RECORDER_UNIT,
			       verb)
		     : r;
}

/* ---- the settings ---- */

static void put_args(const struct recorder_options *o, struct strbuf *b)
{
	strbuf_puts(b, "# Written by sonda recorder enable: arguments of sonda recorder run, one "
		       "per line.\n");
	strbuf_printf(b, "--keep\n%us\n", o->keep_ms / 1000);
	if (o->in_kernel)
		strbuf_puts(b, "--in-kernel\n");
	strbuf_printf(b, "--size\n%lluk\n",
		      (unsigned long long)((o->in_kernel ? o->kernel_bytes : o->max_bytes) >> 10));
	strbuf_printf(b, "--part\n%ums\n", o->part_ms);
	strbuf_printf(b, "--dir\n%s\n", o->dir);
	strbuf_printf(b, "--before\n%ums\n--pause\n%ums\n--snapshots\n%u\n", o->before_ms,
		      o->pause_ms, o->max_snapshots);
	if (o->crash)
		strbuf_puts(b, "--crash\n");
	if (o->alerts)
		strbuf_printf(b, "--alerts\n%s\n", o->alerts);
	for (size_t i = 0; i < o->triggers.n; i++)
		strbuf_printf(b, "--on\n%s\n", o->triggers.of[i].spec);
	for (size_t i = 0; i < o->n_words; i++)
		strbuf_printf(b, "%s\n", o->words[i]);
}

static int write_args(const struct recorder_options *o)
{
	static const char hidden[] = ARGS_DIR "/.recorder";
	_cleanup_(closep) int fd = -1;
	struct strbuf text = {0};
	int r;

	if (mkdir(ARGS_DIR, 0755) < 0 && errno != EEXIST)
		return -errno;
	put_args(o, &text);
	fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	r = fd < 0 ? -errno : text.failed ? -ENOMEM : fs_write_all(fd, text.s, text.len);
	if (r == 0 && (fsync(fd) < 0 || rename(hidden, RECORDER_ARGS_FILE) < 0))
		r = -errno;
	strbuf_deinit(&text);
	return r;
}

int recorder_unit_read(struct recorder_options *ret, struct err_text *e)
{
	char *argv[] = {(char *)"recorder", (char *)"run", (char *)"--args",
			(char *)RECORDER_ARGS_FILE, NULL};

	if (!fs_exists(RECORDER_ARGS_FILE))
		return -ENOENT;
	return recorder_options_parse(4, argv, ret, e);
}

/* ---- both ---- */

int recorder_unit_enable(const struct recorder_options *o, struct err_text *e)
{
	int r = check_systemd(o, e);

	if (r < 0)
		return r;
	r = write_args(o);
	if (r < 0)
		return err_set(e, r, "cannot write " RECORDER_ARGS_FILE ": %s", strerror(-r));
	r = run_systemctl_verb("enable", "--quiet", e);
	return r < 0 ? r : run_systemctl_verb("restart", NULL, e);
}

int recorder_unit_disable(struct err_text *e)
{
	const struct recorder_options none = {.dir = RECORDER_DEFAULT_DIR};
	int r = check_systemd(&none, e);

	if (r == 0)
		r = run_systemctl_verb("disable", "--now", e);
	if (r == 0 && unlink(RECORDER_ARGS_FILE) < 0 && errno != ENOENT)
		r = err_set(e, -errno, "cannot remove " RECORDER_ARGS_FILE ": %s", strerror(errno));
	return r;
}
