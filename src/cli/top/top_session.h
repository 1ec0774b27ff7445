/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "common/trace_stats.pb-c.h"

struct event_base;

/*
 * The session of sonda top: counters of the running service, or of private daemons that end with
 * it. Everything comes through callbacks from the loop; on_end is the last one.
 *
 *	top_session_start --> on_began --> top_session_ask --> on_packet ..., on_stats, on_packets
 */
struct top_session;

/* The number of processes of which each family of eBPF counters writes values: the most that a
 * family allows. */
#define TOP_SESSION_PROCESSES 1024

struct top_session_setup {
	const char *socket; /* of the service; NULL: the default, or private daemons */
	uint32_t period_ms;
	const uint32_t *pids; /* borrowed; eBPF counters of these processes only. n 0: of all */
	size_t n_pids;
};

struct top_session_ops {
	/* All data sources have started. has_ebpf: false if all counters are of /proc. */
	void (*on_began)(void *ctx, bool has_ebpf);
	void (*on_packet)(void *ctx, const uint8_t *data, size_t len);
	/* The service's counters of the session. */
	void (*on_stats)(void *ctx, const Pb__TraceStats *stats);
	/* All packets until the last top_session_ask() were passed to on_packet. */
	void (*on_packets)(void *ctx);
	/* A warning of a private daemon. */
	void (*on_line)(void *ctx, const char *line);
	/* The session ended or could not begin. error 0: the service ended it. why: the message. */
	void (*on_end)(void *ctx, int error, const char *why);
};

/* Connects, or starts private daemons. setup and ops are borrowed until top_session_free(). Returns
 * 0, or -errno and sets e. */
int top_session_start(struct event_base *loop, const struct top_session_setup *setup,
		      const struct top_session_ops *ops, void *ctx, struct err_text *e,
		      struct top_session **ret);

/* Requests all packets until now. flush: also packets that a producer has not committed yet;
 * sonda-probes commits each poll. Returns false if tracing does not run, or the last request is not
 * answered yet. */
bool top_session_ask(struct top_session *s, bool flush);

/* Begins a new session with the counters of /proc alone; on_began is called again. Returns 0, or
 * -errno and sets e. */
int top_session_without_ebpf(struct top_session *s, struct err_text *e);

/* Begins a new session likewise, which keeps the eBPF counters but takes the list of processes from
 * linux.process_stats: for kernels whose BPF has no iterator of processes. */
int top_session_without_processes(struct top_session *s, struct err_text *e);

/* Ends the session and the private daemons, and waits for them. No-op for NULL. */
void top_session_free(struct top_session *s);
