/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the users that caused messages lately. Users that find no place in it share one limit:
 * so the log grows by a bounded number of lines in each period, whoever connects. What was left out
 * for a user is reported before the next message after the period, whoever causes that.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>

#include "service/ipc/quota.h"

static void report_dropped(struct quota_log_user *u)
{
	uint32_t n = u->limit.dropped;

	if (n == 0 || !log_limit_is_over(&u->limit))
		return;
	u->limit = (struct log_limit){0};
	if (u->user <= UINT32_MAX)
		log_warn("%" PRIu32 " messages about peers of uid %" PRIu64 " were left out", n,
			 u->user);
	else
		log_warn("%" PRIu32 " messages about other peers were left out", n);
}

/* The user's entry, or a free one, or that of all further users. */
static struct quota_log_user *entry_of(struct quota_log *l, uint64_t user)
{
	struct quota_log_user *unused = NULL;

	for (size_t i = 0; i < QUOTA_LOG_USERS; i++) {
		struct quota_log_user *u = &l->users[i];

		if (log_limit_is_over(&u->limit))
			unused = u;
		else if (u->user == user)
			return u;
	}
	if (!unused)
		return &l->others;
	*unused = (struct quota_log_user){.user = user};
	return unused;
}

void quota_log(struct quota *q, uint64_t user, enum log_level level, const char *fmt, ...)
{
	struct quota_log *l = &q->log;
	va_list ap;

	for (size_t i = 0; i < QUOTA_LOG_USERS; i++)
		report_dropped(&l->users[i]);
	l->others.user = QUOTA_NO_USER;
	report_dropped(&l->others);
	va_start(ap, fmt);
	log_write_limited_va(&entry_of(l, user)->limit, level, fmt, ap);
	va_end(ap);
}
