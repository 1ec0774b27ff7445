/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diff/diff_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stacks/code.h"
#include "analyze/stacks/stack_points.h"
#include "analyze/store/columns.h"
#include "base/core/mem.h"
#include "base/text/str.h"

#define DEPTH_MAX 1024 /* call sites of a stack; those further out are left out */

/* ---- nodes and names ---- */

static struct diff_stack_name *diff_stack_intern_name(struct diff_stacks *s, const char *key,
						      size_t len, int kind)
{
	struct diff_stack_name *n;

	HASH_FIND(hh, s->names, key, len, n);
	if (n)
		return n;
	n = calloc(1, sizeof(*n));
	if (n)
		n->key = malloc(len);
	if (!n || !n->key) {
		free(n);
		return NULL;
	}
	memcpy(n->key, key, len);
	n->len = len;
	n->kind = kind;
	n->number = HASH_COUNT(s->names);
	HASH_ADD_KEYPTR(hh, s->names, n->key, n->len, n);
	if (n->hh.tbl)
		return n;
	free(n->key);
	free(n);
	return NULL;
}

/* Returns the child of parent with this name, which it adds if it is new; parent if the tree is
 * full; NULL if memory runs out. parent NULL: the root. */
static struct diff_stack_node *diff_stack_find_or_add_child(struct diff_stacks *s,
							    enum diff_stack_kind kind,
							    struct diff_stack_node *parent,
							    uint32_t name)
{
	const struct diff_stack_node wanted = {.key = {parent ? parent->number : 0, name}};
	struct diff_stack_node *n, *made;

	HASH_FIND(hh, s->nodes[kind], &wanted.key, sizeof(wanted.key), n);
	if (n || (parent && HASH_COUNT(s->nodes[kind]) >= DIFF_STACKS_MAX))
		return n ? n : parent;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->key = wanted.key;
	made->number = HASH_COUNT(s->nodes[kind]);
	HASH_ADD(hh, s->nodes[kind], key, sizeof(made->key), made);
	if (made->hh.tbl)
		return made;
	free(made);
	return NULL;
}

/* ---- one trace ---- */

struct reading {
	struct diff_stacks *s;
	const struct diff_stacks_trace *t;
	enum diff_stack_kind kind;
	struct code code;
	uint32_t *name_of; /* owned: by function, plus 1; 0: not known yet */
	uint32_t *
		program_of; /* owned: the name of the program of a chosen thread, plus 1; by utid */
	uint32_t n_threads;
};

static int read_programs(struct reading *r)
{
	static const char sql[] = "SELECT t.utid, coalesce(p.name, t.name, '(unknown)') FROM "
				  "thread t LEFT JOIN process p "
				  "USING (upid) WHERE t.utid IN chosen";
	sqlite3_stmt *st;
	int e = 0;

	r->n_threads = r->t->store->tables[TABLE_THREAD].rows;
	r->program_of = calloc((size_t)r->n_threads + 1, sizeof(*r->program_of));
	if (!r->program_of || sqlite3_prepare_v2(r->t->db, sql, -1, &st, NULL) != SQLITE_OK)
		return -ENOMEM;
	while (e == 0 && sqlite3_step(st) == SQLITE_ROW) {
		uint32_t utid = (uint32_t)sqlite3_column_int64(st, 0);
		const char *name = (const char *)sqlite3_column_text(st, 1);
		const char *slash = name ? strrchr(name, '/') : NULL;
		struct strbuf key = {0};
		struct diff_stack_name *n;

		strbuf_puts(&key, slash && slash[1] && *name == '/' ? slash + 1 : name ? name : "");
		strbuf_putc(&key, '\0');
		n = key.failed ? NULL : diff_stack_intern_name(r->s, key.s, key.len, CODE_NOTE);
		strbuf_deinit(&key);
		if (!n)
			e = -ENOMEM;
		else if (utid < r->n_threads)
			r->program_of[utid] = n->number + 1;
	}
	sqlite3_finalize(st);
	return e;
}

/* Returns the number of the name of a function, plus 1; 0: no memory. */
static uint32_t intern_function_name(struct reading *r, uint32_t function)
{
	struct strbuf key = {0};
	struct diff_stack_name *n = NULL;

	if (r->name_of[function])
		return r->name_of[function];
	code_put_name(&r->code, function, &key);
	strbuf_putc(&key, '\0');
	strbuf_puts(&key, code_file(&r->code, function));
	if (!key.failed)
		n = diff_stack_intern_name(r->s, key.s, key.len, r->code.of[function].kind);
	strbuf_deinit(&key);
	return r->name_of[function] = n ? n->number + 1 : 0;
}

/* Lists the call sites of a stack, the innermost first. */
static unsigned list_callsites(const struct store *s, uint32_t site,
			       uint32_t sites[static DEPTH_MAX])
{
	const struct table *t = &s->tables[TABLE_STACK_CALLSITE];
	unsigned n = 0;

	while (site < t->rows && n < DEPTH_MAX) {
		uint32_t parent = table_u32(t, STACK_CALLSITE_PARENT, site);

		sites[n++] = site;
		site = parent < site ? parent : NULL_U32;
	}
	return n;
}

static int add_stack(struct reading *r, const struct stack_point *p, int side, double ns)
{
	const struct table *t = &r->t->store->tables[TABLE_STACK_CALLSITE];
	struct diff_stack_node *node =
		diff_stack_find_or_add_child(r->s, r->kind, NULL, UINT32_MAX);
	uint32_t sites[DEPTH_MAX];

	if (node)
		node = diff_stack_find_or_add_child(r->s, r->kind, node,
						    r->program_of[p->utid] - 1);
	for (unsigned n = list_callsites(r->t->store, p->site, sites); node && n-- > 0;) {
		uint32_t frame = table_u32(t, STACK_CALLSITE_FRAME, sites[n]);

		for (uint32_t i = r->code.first[frame]; node && i < r->code.first[frame + 1]; i++) {
			uint32_t name = intern_function_name(r, r->code.chain[i]);

			node = name ? diff_stack_find_or_add_child(r->s, r->kind, node, name - 1)
				    : NULL;
		}
	}
	if (!node)
		return -ENOMEM;
	node->self[side] += ns;
	return 0;
}

static bool is_point_counted(const struct reading *r, const struct stack_point *p)
{
	if (p->utid >= r->n_threads || !r->program_of[p->utid] || p->site == NULL_U32)
		return false;
	return r->kind == DIFF_STACKS_WAITS || (p->ts >= r->t->from && p->ts < r->t->to);
}

static int add_stack_points(struct reading *r, int side, double scale)
{
	double unit = scale * (r->kind == DIFF_STACKS_CPU ? (double)r->t->period_ns : 1);
	struct stack_points points = {0};
	int e = 0;

	if (!stack_points_read(r->t->store, r->kind == DIFF_STACKS_CPU ? STACKS_CPU : STACKS_WAITS,
			       &points))
		e = -ENOMEM;
	for (size_t i = 0; e == 0 && i < points.n; i++)
		if (is_point_counted(r, &points.of[i]))
			e = add_stack(r, &points.of[i], side, (double)points.of[i].weight * unit);
	free(points.of);
	return e;
}

int diff_stacks_add(struct diff_stacks *s, const struct diff_stacks_trace *t, int side,
		    double scale)
{
	struct reading r = {.s = s, .t = t};
	int e = code_init(&r.code, t->store) ? read_programs(&r) : -ENOMEM;

	r.name_of = calloc((size_t)r.code.n + 1, sizeof(*r.name_of));
	if (!r.name_of)
		e = -ENOMEM;
	for (unsigned kind = 0; e == 0 && kind < DIFF_STACK_KINDS; kind++) {
		r.kind = (enum diff_stack_kind)kind;
		e = add_stack_points(&r, side, scale);
	}
	code_deinit(&r.code);
	free(r.name_of);
	free(r.program_of);
	return e;
}

/* ---- output ---- */

static void print_stack_names(const struct diff_stacks *s, FILE *to)
{
	struct strbuf b = {0};

	for (const struct diff_stack_name *n = s->names; n; n = n->hh.next) {
		size_t name = strlen(n->key);

		strbuf_clear(&b);
		strbuf_put_json_n(&b, n->key, name);
		strbuf_putc(&b, ',');
		strbuf_put_json_n(&b, n->key + name + 1, n->len - name - 1);
		fprintf(to, "%s[%s,%d]", n->number ? "," : "", b.s ? b.s : "\"\",\"\"", n->kind);
	}
	strbuf_deinit(&b);
}

void diff_stacks_print(const struct diff_stacks *s, const size_t n_of_side[2], FILE *to)
{
	static const char *const kinds[] = {"cpu", "waits"};

	fputs("{\"names\":[", to);
	print_stack_names(s, to);
	fputs("]", to);
	for (unsigned k = 0; k < DIFF_STACK_KINDS; k++) {
		fprintf(to, ",\"%s\":[", kinds[k]);
		for (const struct diff_stack_node *n = s->nodes[k]; n; n = n->hh.next)
			fprintf(to, "%s[%u,%d,%.0f,%.0f]", n->number ? "," : "", n->key.parent,
				(int32_t)n->key.name, n->self[0] / (double)n_of_side[0],
				n->self[1] / (double)n_of_side[1]);
		fputs("]", to);
	}
	fputs("}", to);
}

void diff_stacks_deinit(struct diff_stacks *s)
{
	struct diff_stack_name *n, *next;

	for (unsigned k = 0; k < DIFF_STACK_KINDS; k++)
		HASH_FREE(s->nodes[k]);
	HASH_ITER (hh, s->names, n, next) {
		HASH_DEL(s->names, n);
		free(n->key);
		free(n);
	}
}
