/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code, the function that says most about a wait, and trees of calls: of the stacks of one
 * packet sequence.
 */
#include "analyze/import/import.h"
#include "analyze/stacks/call_tree.h"
#include "analyze/stacks/code.h"
#include "analyze/stacks/stack_points.h"
#include "analyze/store/table_defs.h"
#include "unit/fixture.h"
#include "unit/message_text.h"

#define LIMIT_BYTES (64u << 20)

/* Frames 1 to 9: main, work and read; two addresses without a name that are near each other, one that
 * is not; the kernel's function and a note; a function of libc that waits for a condition. */
#define STACKS                                                                                     \
	"packet { sequence_flags: 1 timestamp: 1 trusted_packet_sequence_id: 2 interned_data { "   \
	"mapping_paths { iid: 1 str: 'usr/bin/app' } mapping_paths { iid: 2 str: 'lib/libc.so.6' " \
	"} "                                                                                       \
	"mapping_paths { iid: 3 str: 'kernel' } build_ids { iid: 1 str: 'id' } "                   \
	"mappings { iid: 1 path_string_ids: 1 build_id: 1 } mappings { iid: 2 path_string_ids: 2 " \
	"} "                                                                                       \
	"mappings { iid: 3 path_string_ids: 3 } "                                                  \
	"function_names { iid: 1 str: 'main' } function_names { iid: 2 str: 'work' } "             \
	"function_names { iid: 3 str: 'read' } function_names { iid: 4 str: 'vfs_read' } "         \
	"function_names { iid: 5 str: '[disk read]' } function_names { iid: 6 str: "               \
	"'pthread_cond_wait' } function_names { iid: 7 str: 'try_to_wake_up' } "                   \
	"frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 16 } "                          \
	"frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 32 } "                          \
	"frames { iid: 3 function_name_id: 3 mapping_id: 2 rel_pc: 16 } "                          \
	"frames { iid: 4 mapping_id: 1 rel_pc: 4096 } frames { iid: 5 mapping_id: 1 rel_pc: 8191 " \
	"} "                                                                                       \
	"frames { iid: 6 mapping_id: 1 rel_pc: 8192 } "                                            \
	"frames { iid: 7 function_name_id: 4 mapping_id: 3 rel_pc: 1 } "                           \
	"frames { iid: 8 function_name_id: 5 mapping_id: 3 } "                                     \
	"frames { iid: 9 function_name_id: 6 mapping_id: 2 rel_pc: 48 } "                          \
	"frames { iid: 10 function_name_id: 7 mapping_id: 3 rel_pc: 2 } %s} }\n"
#define SAMPLE(iid)                                                                                \
	"packet { sequence_flags: 2 timestamp: 1" #iid " trusted_packet_sequence_id: 2 "           \
	"perf_sample { pid: 5 tid: 5 callstack_iid: " #iid " } }\n"

static struct store store;
static struct code code;
static struct stack_points points;

SETUP
{
	store_init(&store, LIMIT_BYTES);
	code = (struct code){.s = NULL};
	points = (struct stack_points){.n = 0};
}

TEARDOWN
{
	code_deinit(&code);
	free(points.of);
	store_deinit(&store);
}

/* Reads a trace with these stacks and packets. */
static void read_trace(const char *stacks, const char *packets)
{
	struct import_result result;
	struct trace_bytes bytes;
	struct strbuf text = {0};
	struct pb_mem m;

	strbuf_printf(&text, STACKS, stacks);
	strbuf_puts(&text, packets);
	assert_int_equal(pb_mem_init(&m), 0);
	message_put_text(&m.enc, "Trace", text.s);
	bytes = (struct trace_bytes){.data = malloc(pb_mem_len(&m) + 1), .len = pb_mem_len(&m)};
	memcpy(bytes.data, m.buf, bytes.len);
	pb_mem_deinit(&m);
	strbuf_deinit(&text);
	assert_int_equal(trace_import(&store, bytes, &result), 0);
	assert_true(code_init(&code, &store));
	assert_true(stack_points_read(&store, STACKS_CPU, &points));
}

static void assert_name(uint32_t function, const char *expected)
{
	struct strbuf name = {0};

	assert_int_not_equal(function, NULL_U32);
	code_put_name(&code, function, &name);
	assert_string_equal(name.s, expected);
	strbuf_deinit(&name);
}

/* The tree of all points as "depth name total self", a line each. */
static void assert_tree(enum tree_shape shape, const char *wanted, const char *expected)
{
	struct strbuf got = {0};
	struct call_tree t;
	bool *is_wanted = calloc(code.n + 1, sizeof(*is_wanted));

	for (uint32_t i = 0; i < code.n; i++)
		is_wanted[i] = !strcmp(strings_get(&store.strings, code.of[i].name), wanted);
	assert_true(call_tree_init(&t, &code, shape, is_wanted));
	for (size_t i = 0; i < points.n; i++)
		assert_true(call_tree_add(&t, points.of[i].site, 1, 1));
	assert_true(call_tree_finish(&t));
	strbuf_puts(&got, "");
	for (uint32_t i = call_tree_next(&t, 0); i; i = call_tree_next(&t, i)) {
		unsigned depth = 0;

		for (uint32_t p = t.of[i].parent; p; p = t.of[p].parent)
			depth++;
		strbuf_printf(&got, "%u ", depth);
		code_put_name(&code, t.of[i].function, &got);
		strbuf_printf(&got, " %d %d\n", (int)t.of[i].total, (int)t.of[i].self);
	}
	assert_string_equal(got.s, expected);
	strbuf_deinit(&got);
	call_tree_deinit(&t);
	free(is_wanted);
}

FIXTURE_TEST(code_without_a_name_is_one_function_for_each_4_kib)
{
	read_trace("callstacks { iid: 1 frame_ids: 1 frame_ids: 4 } callstacks { iid: 2 frame_ids: "
		   "1 frame_ids: 5 } callstacks { iid: 3 frame_ids: 1 frame_ids: 6 } ",
		   SAMPLE(1) SAMPLE(2) SAMPLE(3));
	assert_tree(TREE_DOWN, "", "0 main 3 0\n1 app+0x1000 2 2\n1 app+0x2000 1 1\n");
}

FIXTURE_TEST(a_function_that_calls_itself_counts_once)
{
	struct function_sum *sums;
	struct call_tree t;

	read_trace("callstacks { iid: 1 frame_ids: 1 frame_ids: 2 frame_ids: 2 frame_ids: 3 } "
		   "callstacks { iid: 2 frame_ids: 1 frame_ids: 2 } ",
		   SAMPLE(1) SAMPLE(2));
	assert_tree(TREE_DOWN, "", "0 main 2 0\n1 work 2 1\n2 work 1 0\n3 read 1 1\n");
	assert_tree(TREE_UP, "",
		    "0 read 1 0\n1 work 1 0\n2 work 1 0\n3 main 1 1\n0 work 1 0\n1 main 1 1\n");
	assert_tree(TREE_CALLERS, "work", "0 work 2 0\n1 main 2 2\n");
	assert_tree(TREE_CALLEES, "work", "0 work 2 1\n1 work 1 0\n2 read 1 1\n");
	assert_true(call_tree_init(&t, &code, TREE_DOWN, NULL));
	for (size_t i = 0; i < points.n; i++)
		assert_true(call_tree_add(&t, points.of[i].site, 10, 1));
	assert_true(call_tree_finish(&t));
	sums = call_tree_sums(&t);
	assert_non_null(sums);
	for (uint32_t i = 0; i < code.n; i++)
		if (!strcmp(strings_get(&store.strings, code.of[i].name), "work")) {
			assert_int_equal(sums[i].total, 20);
			assert_int_equal(sums[i].self, 10);
			assert_int_equal(sums[i].total_n, 2);
		}
	free(sums);
	call_tree_deinit(&t);
}

FIXTURE_TEST(the_own_function_is_in_no_library_that_all_programs_call)
{
	read_trace("callstacks { iid: 1 frame_ids: 1 frame_ids: 2 frame_ids: 3 frame_ids: 7 "
		   "frame_ids: 8 } callstacks { iid: 2 frame_ids: 3 frame_ids: 7 } callstacks { "
		   "iid: 3 frame_ids: 7 frame_ids: 10 frame_ids: 8 } callstacks { iid: 4 "
		   "frame_ids: 2 frame_ids: 9 } ",
		   SAMPLE(1) SAMPLE(2) SAMPLE(3) SAMPLE(4));
	assert_int_equal(points.n, 4);
	assert_name(code_own_function(&code, points.of[0].site), "work");
	assert_name(code_own_function(&code, points.of[1].site), "read");
	assert_name(code_own_function(&code, points.of[2].site), "try_to_wake_up");
	assert_name(code_waking_function(&code, points.of[2].site), "vfs_read");
	assert_false(code_waits_for_condition(&code, points.of[0].site));
	assert_true(code_waits_for_condition(&code, points.of[3].site));
	assert_int_equal(code_own_function(&code, NULL_U32), NULL_U32);
}

FIXTURE_TEST(inlined_functions_are_apart)
{
	read_trace(
		"callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } ",
		SAMPLE(1) "packet { trusted_packet_sequence_id: 2 module_symbols { path: "
			  "'/usr/bin/app' build_id: 'id' address_symbols { address: 32 lines { "
			  "function_name: 'inner' line_number: 7 } lines { function_name: 'outer' "
			  "} } } }\n");
	assert_tree(TREE_DOWN, "", "0 main 1 0\n1 outer 1 0\n2 inner 1 1\n");
	assert_name(code_own_function(&code, points.of[0].site), "inner");
}

#define WAIT_TRACK                                                                                 \
	"packet { track_descriptor { uuid: 1 thread { pid: 5 tid: 5 } } }\n"                       \
	"packet { track_descriptor { uuid: 2 parent_uuid: 1 name: 'waits' } }\n"
/* type: 1 for a begin, 2 for an end */
#define WAIT_EVENT(ts, type)                                                                       \
	"packet { timestamp: " #ts " trusted_packet_sequence_id: 3 track_event { track_uuid: 2 "   \
	"type: " #type " name: 'futex' } }\n"

FIXTURE_TEST(sums_of_long_waits_do_not_overflow)
{
	read_trace("", WAIT_TRACK WAIT_EVENT(1, 1) WAIT_EVENT(2, 1) WAIT_EVENT(
			       9000000000000000000, 2) WAIT_EVENT(9000000000000000000, 2));
	free(points.of);
	assert_true(stack_points_read(&store, STACKS_WAITS, &points));
	assert_int_equal(points.n, 2);
	assert_int_equal(points.of[0].weight, 8999999999999999999);
	assert_int_equal(points.of[1].weight, INT64_MAX - points.of[0].weight);
	assert_int_equal(points.total_weight, INT64_MAX);
}
