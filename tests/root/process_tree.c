/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: process_tree proc           what /proc says of every task
 *        process_tree trace FILE     what the process trees of a trace say
 *
 * The same lines for the same facts, so that sort and comm can compare them:
 *
 *	process 70 ppid=1 uid=0 start=1200000000 kthread=0 cmdline=prog|--flag
 *	thread 71 tgid=70 name=worker
 *
 * Bytes that are not plain stand as \xHH. A kernel worker is called by what does not change
 * ("kworker/0:1"). /proc is read here by other means than in src/procfs.
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

static void put_plain(struct strbuf *b, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (isalnum(c) || strchr("/:._-+ ()[]", c))
			strbuf_putc(b, s[i]);
		else
			strbuf_printf(b, "\\x%02x", c);
	}
}

static void put_name(struct strbuf *b, const char *s, size_t len)
{
	size_t n = len;

	if (len > 8 && memcmp(s, "kworker/", 8) == 0)
		for (n = 8; n < len && s[n] != '-' && s[n] != '+'; n++)
			;
	put_plain(b, s, n);
}

/* ---- /proc ---- */

static bool read_proc(struct strbuf *b, int pid, const char *name)
{
	char path[128];

	strbuf_clear(b);
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fs_read_file(path, 1 << 20, b) == 0 && b->len > 0;
}

/* The number behind "\nKEY:\t"; a newline cannot be part of a name there. */
static int64_t status_number(const struct strbuf *status, const char *key)
{
	char needle[32];
	const char *at;

	snprintf(needle, sizeof(needle), "\n%s:\t", key);
	at = strstr(status->s, needle);
	return at ? strtoll(at + strlen(needle), NULL, 10) : -1;
}

static uint64_t start_ns(const struct strbuf *stat)
{
	uint64_t ticks = 0;
	const char *p = strrchr(stat->s, ')');

	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		ticks = strtoull(p, NULL, 10);
	return ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* False: there is not one argument. */
static bool put_cmdline(struct strbuf *line, const char *s, size_t len)
{
	bool any = false;

	for (size_t i = 0; i < len;) {
		size_t n = strnlen(s + i, len - i);

		if (n > 0 && any)
			strbuf_putc(line, '|');
		put_plain(line, s + i, n);
		any |= n > 0;
		i += n + 1;
	}
	return any;
}

static void print_process(int pid)
{
	_cleanup_(strbuf_deinit) struct strbuf status = {0}, stat = {0}, cmdline = {0}, comm = {0},
					       line = {0};

	if (!read_proc(&status, pid, "status") || !read_proc(&stat, pid, "stat") ||
	    !read_proc(&comm, pid, "comm"))
		return;
	strbuf_printf(&line, "process %d ppid=%" PRId64 " uid=%d start=%" PRIu64, pid,
		      status_number(&status, "PPid"), (int)status_number(&status, "Uid"),
		      start_ns(&stat));
	strbuf_printf(&line, " kthread=%" PRId64 " cmdline=", status_number(&status, "Kthread"));
	if (!read_proc(&cmdline, pid, "cmdline") || !put_cmdline(&line, cmdline.s, cmdline.len))
		put_name(&line, comm.s, comm.len - 1);
	puts(line.s);
}

static int print_thread(void *ctx, const char *tid, unsigned char d_type)
{
	_cleanup_(strbuf_deinit) struct strbuf comm = {0}, line = {0};
	int pid = *(int *)ctx;
	char file[64];

	(void)d_type;
	snprintf(file, sizeof(file), "task/%s/comm", tid);
	if (!read_proc(&comm, pid, file))
		return 0;
	strbuf_printf(&line, "thread %s tgid=%d name=", tid, pid);
	put_name(&line, comm.s, comm.len - 1);
	puts(line.s);
	return 0;
}

static int print_task(void *ctx, const char *name, unsigned char d_type)
{
	char path[128];
	int pid = atoi(name);

	(void)ctx, (void)d_type;
	if (pid <= 0)
		return 0;
	print_process(pid);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	(void)fs_each(path, print_thread, &pid);
	return 0;
}

/* ---- the trace ---- */

static void print_process_row(struct pb_field row)
{
	_cleanup_(strbuf_deinit) struct strbuf cmdline = {0};
	int pid = -1, ppid = -1, uid = -1, kthread = -1;
	uint64_t start = 0;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, row.data, row.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_PROCESS_TREE_PROCESS_PID)
			pid = (int)f.u64;
		else if (f.id == PB_PROCESS_TREE_PROCESS_PPID)
			ppid = (int)f.u64;
		else if (f.id == PB_PROCESS_TREE_PROCESS_UID)
			uid = (int)f.u64;
		else if (f.id == PB_PROCESS_TREE_PROCESS_IS_KTHREAD)
			kthread = (int)f.u64;
		else if (f.id == PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT)
			start = f.u64;
		else if (f.id == PB_PROCESS_TREE_PROCESS_CMDLINE) {
			if (cmdline.len > 0)
				strbuf_putc(&cmdline, '|');
			put_name(&cmdline, (const char *)f.data, f.len);
		}
	}
	printf("process %d ppid=%d uid=%d start=%" PRIu64 " kthread=%d cmdline=%s\n", pid, ppid,
	       uid, start, kthread, cmdline.s ? cmdline.s : "");
}

static void print_thread_row(struct pb_field row)
{
	_cleanup_(strbuf_deinit) struct strbuf name = {0};
	int tid = -1, tgid = -1;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, row.data, row.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_PROCESS_TREE_THREAD_TID)
			tid = (int)f.u64;
		else if (f.id == PB_PROCESS_TREE_THREAD_TGID)
			tgid = (int)f.u64;
		else if (f.id == PB_PROCESS_TREE_THREAD_NAME)
			put_name(&name, (const char *)f.data, f.len);
	}
	printf("thread %d tgid=%d name=%s\n", tid, tgid, name.s ? name.s : "");
}

static void print_tree(struct pb_field tree)
{
	struct pb_field row;
	struct pb_dec d;

	pb_dec_init(&d, tree.data, tree.len);
	while (pb_dec_next(&d, &row)) {
		if (row.id == PB_PROCESS_TREE_PROCESSES)
			print_process_row(row);
		else if (row.id == PB_PROCESS_TREE_THREADS)
			print_thread_row(row);
	}
}

static int print_trace(const char *path)
{
	_cleanup_(strbuf_deinit) struct strbuf trace = {0};
	struct pb_field packet, f;
	struct pb_dec d, p;

	if (fs_read_file(path, SIZE_MAX / 2, &trace) < 0)
		return 1;
	pb_dec_init(&d, trace.s, trace.len);
	while (pb_dec_next(&d, &packet)) {
		pb_dec_init(&p, packet.data, packet.len);
		while (pb_dec_next(&p, &f))
			if (f.id == PB_TRACE_PACKET_PROCESS_TREE)
				print_tree(f);
	}
	return pb_dec_ok(&d) ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "proc") == 0)
		return fs_each("/proc", print_task, NULL) < 0;
	if (argc == 3 && strcmp(argv[1], "trace") == 0)
		return print_trace(argv[2]);
	return 2;
}
