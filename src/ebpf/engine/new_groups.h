/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/core/err.h"
#include "subjects/subject.h"

struct ebpf_object;

/* Adds the groups of awaited containers and pods to the scope of objects. Their names are only in
 * files of the container runtimes, so BPF programs cannot recognise them. A BPF program reports
 * each new group, and the name reader searches the files for its names. Groups that have awaited
 * names are added as soon as these are known; programs that their members executed before are
 * counted. All users share one BPF program, and call from the thread of the loop. */
struct new_groups_user {
	struct ebpf_object *object; /* borrowed; NULL: not joined */
	const struct subject_ids *ids; /* borrowed; NULL: no subject */
	uint64_t missed; /* programs executed before their group was added; kept after leave */
	uint64_t *late; /* owned: ids of the groups that were added */
	size_t n_late;
	TAILQ_ENTRY(new_groups_user) link;
};

/* Adds a user. Call it when the object is attached. No-op if the subject awaits no container or
 * pod. Returns 0; or -errno and sets e: for example, the kernel lacks BTF. The object and ids must
 * remain valid until leave. */
int new_groups_join(struct new_groups_user *u, struct ebpf_object *o, const struct subject_ids *ids,
		    struct err_text *e);
/* Removes a user. No-op if u has not joined. */
void new_groups_leave(struct new_groups_user *u);
