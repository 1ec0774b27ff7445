/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each message is assembled in one buffer and written with one write(2), so that lines of several
 * processes on the same terminal do not mix. Control characters become '?': parts of a message may
 * come from a peer, and must neither start a new line nor control the terminal.
 */
#include "base/system/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/text/str.h"

#define LINE_MAX_BYTES 1024
#define LIMIT_BURST 5
#define LIMIT_PERIOD_NS (10 * NS_PER_S)

static struct {
	const char *program; /* borrowed */
	enum log_level level;
	bool journal; /* stderr is the journal */
} log_state = {.program = "sonda", .level = LOG_LEVEL_INFO};

/* Returns true if stderr is the journal: JOURNAL_STREAM holds "device:inode" of the socket that
 * systemd made. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t dev, ino;
	struct stat st;

	if (!stream || sscanf(stream, "%ju:%ju", &dev, &ino) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void log_init(const char *program)
{
	log_state.program = program;
	log_state.journal = stderr_is_journal();
}

void log_set_level(enum log_level level)
{
	log_state.level = level;
}

/* Writes the line. One that is too long is cut and ends in "...". */
static void write_line(char line[static LINE_MAX_BYTES], size_t head, size_t len)
{
	ssize_t n;

	if (len > LINE_MAX_BYTES - 2) {
		len = LINE_MAX_BYTES - 2;
		memcpy(line + len - 3, "...", 3);
	}
	str_make_plain(line + head, len - head, "");
	line[len++] = '\n';
	do
		n = write(STDERR_FILENO, line, len);
	while (n < 0 && errno == EINTR);
}

static void log_va(enum log_level level, uint32_t left_out, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];
	size_t head = 0, len;
	int n;

	if (log_state.journal)
		head += (size_t)snprintf(line, sizeof(line), "<%d>", level);
	n = snprintf(line + head, sizeof(line) - head, "%.64s: ", log_state.program);
	head += (size_t)n;
	n = vsnprintf(line + head, sizeof(line) - head, fmt, ap);
	len = head + (n > 0 ? (size_t)n : 0);
	if (left_out && len < sizeof(line)) {
		n = snprintf(line + len, sizeof(line) - len, " (%" PRIu32 " more suppressed)",
			     left_out);
		len += (size_t)n;
	}
	write_line(line, head, len);
}

void log_write(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (level > log_state.level)
		return;
	va_start(ap, fmt);
	log_va(level, 0, fmt, ap);
	va_end(ap);
	errno = saved;
}

bool log_limit_is_over(const struct log_limit *limit)
{
	return limit->period_start_ns == 0 ||
	       clock_mono_ns() - limit->period_start_ns >= LIMIT_PERIOD_NS;
}

void log_write_limited_va(struct log_limit *limit, enum log_level level, const char *fmt,
			  va_list ap)
{
	uint32_t left_out = 0;
	int saved = errno;

	if (level > log_state.level)
		return;
	if (log_limit_is_over(limit)) {
		left_out = limit->dropped;
		*limit = (struct log_limit){.period_start_ns = clock_mono_ns()};
	}
	if (limit->written >= LIMIT_BURST) {
		limit->dropped++;
		return;
	}
	limit->written++;
	log_va(level, left_out, fmt, ap);
	errno = saved;
}

void log_write_limited(struct log_limit *limit, enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write_limited_va(limit, level, fmt, ap);
	va_end(ap);
}
