/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "client/transport/consumer.h"
#include "common/observable_events.pb-c.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

struct service_stats;
struct trace_file;
struct trace_scan;

/* A synchronous consumer, for verbs that do one step after another. Each function returns 0, or
 * -errno and sets e. The caller frees returned messages with their own functions. */
struct session_client;

/* Connects to the service. socket is borrowed as long as the client; NULL: default address. */
int session_client_open(const char *socket, struct session_client **ret, struct err_text *e);
/* Disconnects; the service ends our session. No-op for NULL. */
void session_client_free(struct session_client *c);

/* Queries the state of the service; sessions_only: without its producers and data sources. */
int session_client_query(struct session_client *c, bool sessions_only,
			 Pb__TracingServiceState **ret, struct err_text *e);

/* Copies the session name that is nearest to name to ret. Returns false if none resembles it. */
bool session_client_nearest_name(struct session_client *c, const char *name,
				 char ret[static STR_NEAREST_SIZE]);

/* fd: as for consumer_clone(). *ret_written: the service wrote the trace to fd, and no packets
 * remain to be read. */
int session_client_clone(struct session_client *c, const struct consumer_clone_request *request,
			 int fd, bool *ret_written, struct err_text *e);
/* Returns why the service refused a clone (-EPROTO), in its own words. Borrowed from c until the
 * next clone. */
const char *session_client_clone_refusal(const struct session_client *c);
/* Becomes the consumer of a detached session of this user. *ret: the config of the session. */
int session_client_attach(struct session_client *c, const char *key, Pb__TraceConfig **ret,
			  struct err_text *e);

/* For session_client_await_start(): subscribes to the start of the session. Call it before
 * session_client_enable(), because a service without producers reports the start only during that
 * call. */
int session_client_watch_start(struct session_client *c, struct err_text *e);
/* Starts a session; fd: as for consumer_enable(). If the service refuses it, session_client_end()
 * reports that, as it reports the end. */
int session_client_enable(struct session_client *c, const Pb__TraceConfig *config, int fd,
			  struct err_text *e);
/* Waits until all data sources of our session have started; session_client_watch_start() comes
 * first. Returns 0, also if the service cannot report it; -ETIMEDOUT; or -EPROTO if the session or
 * the connection ended before. */
int session_client_await_start(struct session_client *c, uint32_t timeout_ms, struct err_text *e);

/* Calls fn for each trigger of CLONE_SNAPSHOT that is hit, from session_client_end() and
 * session_client_await_start(); call this function before session_client_enable(). hit is borrowed
 * during the call. fn may use another client. */
int session_client_watch_clone_triggers(
	struct session_client *c,
	void (*fn)(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit), void *ctx,
	struct err_text *e);

/* How a session ended. aborted: the error text, "" if the session ended normally. */
struct session_end {
	bool by_signal;
	bool flush_failed;
	struct err_text aborted;
};

/* Waits for the end of our session. With at_once, or at SIGINT, SIGTERM or SIGHUP, flushes and ends
 * the session; another signal, while the service ends it, makes this function return -EINTR.
 * config: of the session. */
int session_client_end(struct session_client *c, const Pb__TraceConfig *config, bool at_once,
		       struct session_end *ret, struct err_text *e);
/* Queries the service's counters of our session. */
int session_client_query_stats(struct session_client *c, struct service_stats *ret,
			       struct err_text *e);
/* Detaches our session under this key. */
int session_client_detach(struct session_client *c, const char *key, struct err_text *e);
/* Reads all packets of our session into file and scan, and saves the file. Returns the error of
 * reading or -ENODATA (no packets), without saving; or the error of trace_file_save(): after a
 * failed write the file is saved with the packets before it. */
int session_client_save(struct session_client *c, struct trace_file *file, struct trace_scan *scan,
			struct err_text *e);
