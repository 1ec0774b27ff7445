/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "client/transport/consumer.h"

struct service_stats;
struct trace_file;
struct trace_scan;

/*
 * A consumer whose requests have their answer when they return: for verbs that do one thing after
 * the other with sessions of the tracing service. Each gives 0, or -errno and sets e.
 * Messages are the caller's, to be freed with their own functions.
 */
struct session_client;

/* socket NULL: the usual place. */
int session_client_open(const char *socket, struct session_client **ret, struct err_text *e);
/* Disconnects: the service ends what session is ours. No-op for NULL. */
void session_client_free(struct session_client *c);

int session_client_query(struct session_client *c, bool sessions_only,
			 Pb__TracingServiceState **ret, struct err_text *e);

/* fd as consumer_clone has it. *ret_written: it has the trace, and nothing is to be read. */
int session_client_clone(struct session_client *c, const struct consumer_clone_request *request,
			 int fd, bool *ret_written, struct err_text *e);
int session_client_attach(struct session_client *c, const char *key, Pb__TraceConfig **ret,
			  struct err_text *e);

/* How a session ended: at_once, by a signal, or by itself; aborted is the service's word where it
 * did not end as it should, else "". */
struct session_end {
	bool by_signal;
	bool flush_failed;
	struct err_text aborted;
};

/* Waits until our session has ended; at_once, or SIGINT or SIGTERM: flushes it and ends it. A second
 * signal gives -EINTR. config is the session's. */
int session_client_end(struct session_client *c, const Pb__TraceConfig *config, bool at_once,
		       struct session_end *ret, struct err_text *e);
/* The service's counters of our session. */
int session_client_stats(struct session_client *c, struct service_stats *ret, struct err_text *e);
/* Our session continues without us under this key, as before it was attached to. */
int session_client_detach(struct session_client *c, const char *key, struct err_text *e);
/* All packets of our session go into the file, which is saved, and are looked at; where there is no
 * room for all, with those that found some, and -errno. -ENODATA: there are none. */
int session_client_save(struct session_client *c, struct trace_file *file, struct trace_scan *scan,
			struct err_text *e);

/* Why nobody was reached there, for display. Returns error back. */
int session_client_explain(const char *address, int error, struct err_text *e);
