/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/system/priority_boost.h"
#include "config/trace_config.pb-c.h"

struct event_base;
struct quota_account;
struct trace;

/* Callbacks of the files of a trace to their session, always from the loop. */
struct file_writer_ops {
	/* Flushes the producers and then calls file_writer_on_flushed(). If number is not 0, a new
	 * file with this number begins, and producers also clear their incremental state. Returns
	 * 0, or -errno if no flush was started. */
	int (*flush)(void *ctx, uint32_t number);
	/* The file cannot be written; text is the reason. stop() or closed() follows. */
	void (*failed)(void *ctx, const char *text);
	/* The file was closed before its session has ended: it failed, or is full. */
	void (*stop)(void *ctx);
	/* The file was closed after file_writer_finish(). May free the file writer. */
	void (*closed)(void *ctx);
};

/* The part of a session that a file writer uses. The session owns all of it. */
struct file_owner {
	const struct file_writer_ops *ops;
	void *ctx;
	struct event_base *loop;
	struct trace *trace;
	const Pb__TraceConfig *config;
	struct quota_account *account;
	uid_t uid;
	struct priority_boost boost; /* of the thread that writes */
};
