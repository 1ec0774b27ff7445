/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "base/text/str.h"

/*
 * JSON-RPC 2.0 over lines: each line is a request, a notification or a batch of them, written by a
 * program that may be hostile.
 */

#define JSON_RPC_LINE_MAX (1u << 20) /* bytes */
#define JSON_RPC_BATCH_MAX 32 /* requests of a batch */
#define JSON_RPC_DEPTH_MAX 32 /* nested objects and arrays */

enum json_rpc_error {
	JSON_RPC_PARSE_ERROR = -32700,
	JSON_RPC_INVALID_REQUEST = -32600,
	JSON_RPC_METHOD_NOT_FOUND = -32601,
	JSON_RPC_INVALID_PARAMS = -32602,
	JSON_RPC_INTERNAL_ERROR = -32603,
};

/* Calls a method. params: an object, or NULL; borrowed. Appends the result, a JSON value, to
 * ret_result and returns 0; or returns an error code and appends its text, which is not JSON. Also
 * called for notifications, whose result is dropped. */
typedef int json_rpc_call(void *ctx, const char *method, struct json_object *params,
			  struct strbuf *ret_result);

/* Answers one line of len bytes without its newline; a NUL follows it. Appends the answer with a
 * newline to *ret; nothing for notifications and for empty lines. */
void json_rpc_answer(const char *line, size_t len, json_rpc_call *call, void *ctx,
		     struct strbuf *ret);

/* Appends the answer to a line that is longer than JSON_RPC_LINE_MAX. */
void json_rpc_refuse_line(struct strbuf *ret);
