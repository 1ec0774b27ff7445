/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probes/probe_text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text/number_read.h"

static int copy_part(char *to, size_t size, struct span part, const char *what, struct err_text *e)
{
	if (!part.len || part.len >= size)
		return err_set(e, -EINVAL, "%s %s", what, part.len ? "is too long" : "is missing");
	memcpy(to, part.p, part.len);
	to[part.len] = '\0';
	return 0;
}

static void trim_end(struct span *s, size_t n)
{
	s->len -= n;
	*s = span_trim(*s);
}

/* Moves "(ARGS)" from the end of s to t. The parentheses of "operator()" are part of the name. */
static void cut_arguments(struct span *s, struct probe_text *t)
{
	static const char anonymous[] = "operator";
	size_t open = s->len;
	int depth = 0;

	if (!s->len || s->p[s->len - 1] != ')')
		return;
	while (open--) {
		depth += (s->p[open] == ')') - (s->p[open] == '(');
		if (!depth)
			break;
	}
	if (depth || span_ends((struct span){s->p, open}, anonymous))
		return;
	t->has_args = true;
	t->args = (struct span){s->p + open + 1, s->len - open - 2};
	trim_end(s, s->len - open);
}

#define OFFSET_MAX_CHARS 23

/* Moves "+0x12" from the end of s to t. */
static void cut_offset(struct span *s, struct probe_text *t)
{
	size_t at = s->len;
	struct span number;

	while (at && isalnum((unsigned char)s->p[at - 1]))
		at--;
	if (!at || s->p[at - 1] != '+' || s->len - at > OFFSET_MAX_CHARS ||
	    !isdigit((unsigned char)s->p[at]))
		return;
	number = (struct span){s->p + at, s->len - at};
	(void)span_read_u64(&number, 0, &t->offset);
	if (!number.len)
		trim_end(s, s->len - at + 1);
}

/* Moves the parts that probes of programs and of the kernel have in common from the text to t: the
 * result, the arguments and "%return", which changes *kind. Returns 0, or -EINVAL and sets e. */
static int cut_suffixes(struct span *rest, enum user_probe_kind *kind, struct probe_text *t,
			struct err_text *e)
{
	const char *arrow = memmem(rest->p, rest->len, " -> ", 4);

	if (arrow && *kind != USER_PROBE_SPAN)
		return err_set(e, -EINVAL, "only a span can have a result (' -> int')");
	if (arrow) {
		t->result = span_trim(
			(struct span){arrow + 4, (size_t)(rest->p + rest->len - arrow - 4)});
		*rest = span_trim((struct span){rest->p, (size_t)(arrow - rest->p)});
	}
	cut_arguments(rest, t);
	if (!span_ends(*rest, "%return") || *kind == USER_PROBE_STATIC)
		return 0;
	if (*kind == USER_PROBE_SPAN)
		return err_set(e, -EINVAL, "a span already includes the call and the return");
	*kind = USER_PROBE_RETURN;
	trim_end(rest, strlen("%return"));
	return 0;
}

/* Moves "GROUP/NAME=" from the beginning of rest to t->event, if the '=' is in the first len
 * bytes. */
static void cut_event_name(struct span *rest, size_t len, struct probe_text *t)
{
	const char *sign = memchr(rest->p, '=', len);

	if (!sign)
		return;
	t->event = (struct span){rest->p, (size_t)(sign - rest->p)};
	*rest = (struct span){sign + 1, (size_t)(rest->p + rest->len - sign - 1)};
}

int probe_text_parse(const char *text, enum user_probe_kind *kind, struct probe_text *ret,
		     struct err_text *e)
{
	struct span rest = span_trim((struct span){text, strlen(text)});
	struct probe_text t = {.offset = 0};
	const char *colon;
	int r = cut_suffixes(&rest, kind, &t, e);

	if (r)
		return r;
	colon = memchr(rest.p, ':', rest.len);
	if (!colon)
		return err_set(e, -EINVAL, "expected PROGRAM:%s",
			       *kind == USER_PROBE_STATIC
				       ? "PROVIDER:NAME, as sonda list usdt PROGRAM "
					 "prints it"
				       : "FUNCTION, for example 'libc.so.6:open(str path)'");
	cut_event_name(&rest, (size_t)(colon - rest.p), &t);
	r = copy_part(t.program, sizeof(t.program),
		      span_trim((struct span){rest.p, (size_t)(colon - rest.p)}), "the program", e);
	rest = span_trim((struct span){colon + 1, (size_t)(rest.p + rest.len - colon - 1)});
	if (*kind == USER_PROBE_CALL)
		cut_offset(&rest, &t);
	if (r == 0)
		r = copy_part(t.function, sizeof(t.function), rest, "the function", e);
	if (r == 0)
		*ret = t;
	return r;
}

int probe_text_parse_kernel(const char *text, enum user_probe_kind *kind, struct probe_text *ret,
			    struct err_text *e)
{
	struct span rest = span_trim((struct span){text, strlen(text)});
	struct probe_text t = {.offset = 0};
	int r = cut_suffixes(&rest, kind, &t, e);

	if (r == 0) {
		cut_event_name(&rest, rest.len, &t);
		r = copy_part(t.function, sizeof(t.function), rest, "the function", e);
	}
	if (r == 0)
		*ret = t;
	return r;
}
