/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace file of any bytes, which sonda report reads from a pipe. The last byte selects what is
 * printed: all reports, as text or in one of the two forms of JSON, which must be valid; or a
 * single report with one of its grouping keys.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/report/report.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/terminal/verb.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) ((condition) ? (void)0 : abort())
#define MAX_BYTES (1 << 20) /* of a pipe that an unprivileged user may have */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_set_level((enum log_level)0); /* nothing: the trace causes most messages */
	return setenv("SONDA_CACHE", "off", 1);
}

static bool is_json(const char *text, size_t len)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	bool valid;

	MUST(sqlite3_open(":memory:", &db) == SQLITE_OK);
	MUST(sqlite3_prepare_v2(db, "select json_valid(?1)", -1, &st, NULL) == SQLITE_OK);
	sqlite3_bind_text64(st, 1, text, len, SQLITE_STATIC, SQLITE_UTF8);
	valid = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) == 1;
	sqlite3_finalize(st);
	sqlite3_close(db);
	return valid;
}

/* Makes the bytes what standard input has. */
static void pipe_to_stdin(const uint8_t *data, size_t size)
{
	int ends[2];

	MUST(pipe2(ends, O_CLOEXEC) == 0);
	MUST(fcntl(ends[1], F_SETPIPE_SZ, MAX_BYTES) >= (int)size);
	MUST(write(ends[1], data, size) == (ssize_t)size);
	close(ends[1]);
	MUST(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
	close(ends[0]);
}

/* Runs the verb with these options. */
static void report(const uint8_t *data, size_t size, const char *const *options)
{
	char *argv[16] = {(char *)"report", (char *)"--no-pager", (char *)"--memory=64m"};
	FILE *before = stdout;
	char *text = NULL;
	size_t len = 0;
	bool json = false;
	int n = 3, code;

	for (; *options; options++) {
		argv[n++] = (char *)*options;
		json |= !strncmp(*options, "--json", 6);
	}
	argv[n++] = (char *)"-";
	pipe_to_stdin(data, size);
	stdout = open_memstream(&text, &len);
	MUST(stdout);
	code = cmd_report(n, argv);
	fclose(stdout);
	stdout = before;
	MUST(code == EXIT_GOOD || code == EXIT_FAILED);
	MUST(!json || code != EXIT_GOOD || is_json(text, len));
	free(text);
}

/* Runs the single report that has the number-th grouping key, counted over all reports. */
static void report_by(const uint8_t *data, size_t size, unsigned number)
{
	const struct report *r;

	for (size_t i = 0; (r = report_at(i)); i++)
		for (size_t k = 0; k < r->n_sections; k++) {
			const char *by = r->sections[k].by;
			char option[64];

			if (!by || number--)
				continue;
			if (!strcmp(by, "callers") || !strcmp(by, "callees"))
				snprintf(option, sizeof(option), "--%s=*", by);
			else if (!strcmp(by, "line"))
				snprintf(option, sizeof(option), "--lines");
			else
				snprintf(option, sizeof(option), "--by=%s", by);
			report(data, size,
			       (const char *[]){option, r->of_subject ? "--cgroup=*" : "--top=5",
						r->name, r->of_thread ? "*" : NULL, NULL});
			return;
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > MAX_BYTES)
		return 0;
	switch (data[--size]) {
	case 0:
		report(data, size, (const char *[]){"--all", NULL});
		break;
	case 1:
		report(data, size, (const char *[]){"--all", "--json", "--cgroup=*", NULL});
		break;
	case 2:
		report(data, size, (const char *[]){"--all", "--json=keys", "--pid=*", NULL});
		break;
	default:
		report_by(data, size, data[size] - 3u);
	}
	return 0;
}
