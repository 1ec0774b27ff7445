/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/json_rpc.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

static void put_error(struct strbuf *b, struct json_object *id, int code, const char *text)
{
	strbuf_puts(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	strbuf_puts(b, id ? json_object_to_json_string_ext(id, JSON_C_TO_STRING_PLAIN) : "null");
	strbuf_printf(b, ",\"error\":{\"code\":%d,\"message\":", code);
	strbuf_put_json(b, text);
	strbuf_puts(b, "}}");
}

static bool is_id(struct json_object *id)
{
	return !id || json_object_is_type(id, json_type_string) ||
	       json_object_is_type(id, json_type_int) || json_object_is_type(id, json_type_double);
}

/* Answers one request; nothing if it is a notification. */
static void answer_request(struct json_object *request, json_rpc_call *call, void *ctx,
			   struct strbuf *ret)
{
	struct json_object *id = NULL, *version = NULL, *method = NULL, *params = NULL;
	struct strbuf result = {0};
	bool has_id, is_valid;
	int code;

	if (!json_object_is_type(request, json_type_object)) {
		put_error(ret, NULL, JSON_RPC_INVALID_REQUEST, "a request must be an object");
		return;
	}
	has_id = json_object_object_get_ex(request, "id", &id);
	json_object_object_get_ex(request, "jsonrpc", &version);
	json_object_object_get_ex(request, "method", &method);
	json_object_object_get_ex(request, "params", &params);
	is_valid = is_id(id) && json_object_is_type(version, json_type_string) &&
		   !strcmp(json_object_get_string(version), "2.0") &&
		   json_object_is_type(method, json_type_string) &&
		   (!params || json_object_is_type(params, json_type_object));
	if (!is_valid) {
		/* Responses are dropped, because the server sends no requests. */
		if (method || !has_id)
			put_error(ret, is_id(id) ? id : NULL, JSON_RPC_INVALID_REQUEST,
				  "not a JSON-RPC 2.0 request with an object as params");
		return;
	}
	code = call(ctx, json_object_get_string(method), params, &result);
	if (code == 0 && result.failed)
		code = JSON_RPC_INTERNAL_ERROR;
	if (has_id && code != 0) {
		put_error(ret, id, code, result.s && !result.failed ? result.s : "out of memory");
	} else if (has_id) {
		strbuf_puts(ret, "{\"jsonrpc\":\"2.0\",\"id\":");
		strbuf_puts(ret, id ? json_object_to_json_string_ext(id, JSON_C_TO_STRING_PLAIN)
				    : "null");
		strbuf_puts(ret, ",\"result\":");
		strbuf_add(ret, result.s ? result.s : "{}", result.s ? result.len : 2);
		strbuf_putc(ret, '}');
	}
	strbuf_deinit(&result);
}

static void answer_batch(struct json_object *batch, json_rpc_call *call, void *ctx,
			 struct strbuf *ret)
{
	size_t n = json_object_array_length(batch), before;
	bool some = false;

	if (n == 0 || n > JSON_RPC_BATCH_MAX) {
		put_error(ret, NULL, JSON_RPC_INVALID_REQUEST,
			  "a batch must have 1 to 32 requests");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		before = ret->len;
		strbuf_putc(ret, some ? ',' : '[');
		answer_request(json_object_array_get_idx(batch, i), call, ctx, ret);
		if (ret->len > before + 1) {
			some = true;
		} else if (ret->s) { /* a notification */
			ret->len = before;
			ret->s[before] = '\0';
		}
	}
	if (some)
		strbuf_putc(ret, ']');
}

static bool is_blank(const char *s, size_t len)
{
	while (len && strchr(" \t\r", s[len - 1]) && s[len - 1])
		len--;
	return len == 0;
}

/* Parses the whole text. *ret_good: it is JSON. Returns the value, which the caller releases with
 * json_object_put(), or NULL for the JSON value null. */
static struct json_object *parse_line(const char *line, size_t len, bool *ret_good)
{
	struct json_tokener *t = json_tokener_new_ex(JSON_RPC_DEPTH_MAX);
	struct json_object *value = NULL;

	*ret_good = false;
	if (!t)
		return NULL;
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* The NUL after the text ends a number. */
	if (!memchr(line, '\0', len))
		value = json_tokener_parse_ex(t, line, (int)len + 1);
	*ret_good = json_tokener_get_error(t) == json_tokener_success &&
		    json_tokener_get_parse_end(t) >= len;
	json_tokener_free(t);
	return value;
}

void json_rpc_answer(const char *line, size_t len, json_rpc_call *call, void *ctx,
		     struct strbuf *ret)
{
	struct json_object *value;
	size_t before = ret->len;
	bool good;

	if (is_blank(line, len))
		return;
	if (len > JSON_RPC_LINE_MAX) {
		json_rpc_refuse_line(ret);
		return;
	}
	value = parse_line(line, len, &good);
	if (!good)
		put_error(ret, NULL, JSON_RPC_PARSE_ERROR, "the line is not JSON");
	else if (json_object_is_type(value, json_type_array))
		answer_batch(value, call, ctx, ret);
	else
		answer_request(value, call, ctx, ret);
	json_object_put(value);
	if (ret->len > before)
		strbuf_putc(ret, '\n');
}

void json_rpc_refuse_line(struct strbuf *ret)
{
	put_error(ret, NULL, JSON_RPC_INVALID_REQUEST, "the line is longer than 1 MiB");
	strbuf_putc(ret, '\n');
}
