/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/ipc/quota.h"
#include "service/session/session.h"
#include "service/trace/trace.h"

struct trace_buffer;

/* The parts of a cloned session, collected while the source runs. */
struct session_clone {
	struct trace_buffer **buffers; /* owned, like its elements; NULL or empty until filled */
	uint64_t *taken_boot_ns; /* owned; when each buffer was moved or copied */
	size_t n_buffers;
	uint64_t begun_boot_ns;
	bool unfiltered; /* the trace filter of the config is not applied */
	bool flush_failed, flush_succeeded; /* neither: the source's final flush counts */
	struct received_trigger trigger; /* owned; name NULL: the consumer requested the clone */
	struct quota_account account; /* of the user who requests the clone */
	uid_t uid; /* of that user */
};

/* Prepares a clone of source for a user. Returns 0, or -EDQUOT or -ENOMEM and sets e. deinit may be
 * called in all cases, even after finish. */
int session_clone_init(struct session_clone *c, const struct session *source, uid_t uid,
		       struct err_text *e);
void session_clone_deinit(struct session_clone *c);

/* Creates the session, in CLONED, after all buffers were moved or copied to c. It has the source's
 * config, and its trace has the service's packets of the source. The triggers that the source has
 * received move to it. Returns 0, or -ENOMEM or -ENOSPC (no free buffer id) and leaves c
 * unchanged. */
int session_clone_finish(struct session_clone *c, struct session *source,
			 struct session_owner owner, struct session **ret);
