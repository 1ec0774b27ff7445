/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/ipc/quota.h"
#include "service/session/session.h"
#include "service/trace/trace.h"

struct trace_buffer;

/* What a cloned session is made of. It is collected while the source still runs. */
struct session_clone {
	struct trace_buffer **buffers; /* owned, and the array; NULL where not taken yet */
	uint64_t *taken_boot_ns; /* owned; when each buffer was taken */
	size_t n_buffers;
	uint64_t begun_boot_ns;
	bool unfiltered; /* its packets are given out as they are, whatever the config says */
	bool flush_failed, flush_succeeded; /* neither: the last flush is the source's */
	struct received_trigger trigger; /* owned; why it is cloned. name NULL: by itself */
	struct quota_account account; /* of the user who clones */
	uid_t uid; /* of that user */
};

/* For a clone of source by a user, begun now. 0, or with the reason in e -EDQUOT or -ENOMEM; deinit
 * is fine after both, and after finish. */
int session_clone_init(struct session_clone *c, const struct session *source, uid_t uid,
		       struct err_text *e);
void session_clone_deinit(struct session_clone *c);

/*
 * All buffers are there: makes the session, in CLONED, owned by the consumer, with the source's
 * config and what the source has to say in its trace; the triggers that the source has received
 * move to it. 0; -ENOMEM or -ENOSPC (no number for a buffer): c is as before.
 */
int session_clone_finish(struct session_clone *c, struct session *source,
			 struct session_owner owner, struct session **ret);
