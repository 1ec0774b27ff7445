/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "client/consumer.h"

struct trace_file;

/*
 * A consumer whose requests have their answer when they return: for verbs that do one thing after
 * the other with sessions of the tracing service. Each gives 0, or -errno with the sentence in e.
 * Messages are the caller's, to be freed with their own functions.
 */
struct session_client;

/* socket NULL: the usual place. */
int session_client_open(const char *socket, struct session_client **ret, struct err_text *e);
/* Disconnects: the service ends what session is ours. NULL is fine. */
void session_client_free(struct session_client *c);

int session_client_query(struct session_client *c, bool sessions_only,
			 Pb__TracingServiceState **ret, struct err_text *e);

/* fd as consumer_clone has it. *ret_written: it has the trace, and nothing is to be read. */
int session_client_clone(struct session_client *c, const struct consumer_clone_request *request,
			 int fd, bool *ret_written, struct err_text *e);
int session_client_attach(struct session_client *c, const char *key, Pb__TraceConfig **ret,
			  struct err_text *e);

/* Waits until our session has ended; at_once, or SIGINT or SIGTERM: flushes it and ends it. A second
 * signal gives -EINTR. config is the session's. */
int session_client_end(struct session_client *c, const Pb__TraceConfig *config, bool at_once,
		       struct err_text *e);
/* Our session goes on without us under this key, as before it was attached to. */
int session_client_detach(struct session_client *c, const char *key, struct err_text *e);
/* All packets of our session go into the file, which is saved; where there is no room for all, with
 * those that found some, and -errno. -ENODATA: there are none. */
int session_client_save(struct session_client *c, struct trace_file *file, struct err_text *e);

/* Why nobody was reached there, for people. Gives error back. */
int session_client_explain(const char *address, int error, struct err_text *e);
