/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Messages of a program to its operator, on stderr, one line each:  "sondad: message".
 *
 * Libraries return errors; the code that handles an error logs it, once. Messages that a peer can
 * trigger use a struct log_limit. If stderr is the journal, each line begins with its priority,
 * "<N>".
 */

enum log_level {
	LOG_LEVEL_ERROR = 3, /* the numbers of syslog(3) */
	LOG_LEVEL_WARN = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/* program is borrowed for the life of the process. The level starts at INFO. */
void log_init(const char *program);
void log_set_level(enum log_level level);
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Rate limit of messages that a peer can trigger: 5 messages in 10 s. Further ones are counted, and
 * the next message that is allowed reports their number. Zero-initialise. */
struct log_limit {
	uint64_t period_start_ns;
	uint32_t written;
	uint32_t dropped;
};
void log_write_limited(struct log_limit *limit, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void log_write_limited_va(struct log_limit *limit, enum log_level level, const char *fmt,
			  va_list ap) __attribute__((format(printf, 3, 0)));
/* Returns true if no period of 10 s is running: none has begun yet, or the last one is over. */
bool log_limit_is_over(const struct log_limit *limit);
