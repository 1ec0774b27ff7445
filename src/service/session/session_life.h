/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "service/session/session.h"

struct sessions;

/* How sessions come to be, and go. */

/*
 * Makes a session of the config (taken on success), in CONFIGURED, with no data sources yet. fd is
 * the file that came with the config, or -1; taken in any case. 0; a negative errno with the reason
 * in e: refused, nothing has changed.
 */
int session_new(struct sessions *sessions, struct session_owner owner, uid_t uid,
		Pb__TraceConfig *config, int fd, struct err_text *e, struct session **ret);
/* One in DISABLED that nobody knows, with no config and no buffers: for what makes sessions in
 * another way. 0 or -ENOMEM. */
int session_alloc(struct sessions *sessions, struct session_owner owner, uid_t uid,
		  struct session **ret);
/* Frees one that nobody knows yet, as a clean-up of it. */
void session_destroyp(struct session **s);
/* Stops everything at once, frees the buffers. NULL is fine. */
void session_free(struct session *s);
void session_freep(struct session **s);
