/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "config/trace_config.pb-c.h"
#include "service/ipc/quota.h"

struct extensions;
struct pb_enc;
struct remote_machines;

/* The state that all traces of the service share. Borrowed: it must outlive the traces. */
struct trace_env {
	const struct remote_machines *machines;
	const struct extensions *extensions; /* NULL: none */
	uid_t uid; /* trusted_uid of the service's own packets */
};

/* The data of a session that its trace uses. Everything is borrowed. */
struct trace_owner {
	const Pb__TraceConfig *config;
	struct quota_account *account;
	/* Writes the fields of TraceStats. Once max_bytes are written, it adds no more
	 * writer_stats. */
	void (*put_stats)(void *ctx, struct pb_enc *e, size_t max_bytes);
	void *ctx;
};
