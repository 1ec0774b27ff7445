/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of events by their format files, of a tracefs that the test writes and of this
 * machine's.
 */

#include "ebpf/engine/object.h"
#include "unit/test.h"

static char root[64];
static struct ebpf_features features;

#define FIELD(declaration, place) "\tfield:" declaration ";\t" place "\n"

static const char format[] = "name: thing\nID: 7\nformat:\n"
	/* clang-format off */
	FIELD("unsigned short common_type", "offset:0;\tsize:2;\tsigned:0;")
	FIELD("int common_pid", "offset:4;\tsize:4;\tsigned:1;")
	"\n"
	FIELD("char comm[16]", "offset:8;\tsize:16;\tsigned:0;")
	FIELD("pid_t pid", "offset:24;\tsize:4;\tsigned:1;")
	FIELD("pid_t pid_of_other", "offset:28;\tsize:4;\tsigned:1;")
	FIELD("long state", "offset:32;\tsize:8;\tsigned:1;")
	FIELD("int far", "offset:65536;\tsize:4;\tsigned:1;")
	FIELD("int nowhere", "size:4;\tsigned:1;")
	FIELD("int odd", "offset:x;\tsize:4;\tsigned:1;")
	/* clang-format on */
	"\nprint fmt: \"field: pid;\toffset:1;\tsize:1;\", REC->pid, __print_symbolic(REC->state, "
	"{ 0, \"R\" }, "
	"{ 0x10, \"X, (dead)\" }), __print_symbolic(REC->far, { 1, \"one\" })\n";

static void path_of(const char *sub, char ret[128])
{
	snprintf(ret, 128, "%s%s", root, sub);
}

static int setup(void **state)
{
	static const char *const dirs[] = {"/events", "/events/group", "/events/group/thing"};
	char path[128];
	FILE *f;

	snprintf(root, sizeof(root), "/tmp/sonda-facts-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	for (int i = 0; i < 3; i++) {
		path_of(dirs[i], path);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	path_of("/events/group/thing/format", path);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fputs(format, f);
	fclose(f);
	return ebpf_features_new(root, &features);
}

static int teardown(void **state)
{
	static const char *const all[] = {"/events/group/thing/format", "/events/group/thing",
					  "/events/group", "/events", ""};
	char path[128];

	ebpf_features_free(&features);
	for (int i = 0; i < 5; i++) {
		path_of(all[i], path);
		remove(path);
	}
	return 0;
}

static void is_at(const char *field, int offset, int size)
{
	struct sonda_field found = {0};

	assert_int_equal(features.find_field(features.ctx, "group/thing", field, &found), 0);
	assert_int_equal(found.offset, offset);
	assert_int_equal(found.size, size);
}

TEST_WITH(fields_are_found_by_their_whole_name, NULL, NULL)
{
	is_at("pid", 24, 4);
	is_at("state", 32, 8);
	is_at("comm", 8, 16); /* without its size */
	is_at("common_pid", 4, 4);
	assert_false(ebpf_has_field(&features, "group/thing", "common"));
	assert_false(ebpf_has_field(&features, "group/thing", "other"));
}

TEST(an_unknown_field_is_absent)
{
	struct sonda_field found = {.offset = 5, .size = 6};

	assert_int_equal(features.find_field(features.ctx, "group/thing", "none", &found), -ENOENT);
	assert_int_equal(features.find_field(features.ctx, "group/none", "pid", &found), -ENOENT);
	assert_int_equal(features.find_field(features.ctx, "group/thing", "far", &found), -ENOENT);
	assert_int_equal(features.find_field(features.ctx, "group/thing", "nowhere", &found),
			 -ENOENT);
	assert_int_equal(features.find_field(features.ctx, "group/thing", "odd", &found), -ENOENT);
	/* Untouched. */
	assert_int_equal(found.offset, 5);
	assert_int_equal(found.size, 6);
}

static char symbols[256];

static void on_symbol(void *arg, const char *name, int64_t value)
{
	size_t n = strlen(symbols);

	snprintf(symbols + n, sizeof(symbols) - n, "%s%d=%s", (const char *)arg, (int)value, name);
}

TEST_WITH(names_of_values, NULL, NULL)
{
	features.each_symbol(features.ctx, "group/thing", "state", on_symbol, "|");
	assert_string_equal(symbols, "|0=R|16=X, (dead)");
	features.each_symbol(features.ctx, "group/thing", "pid", on_symbol, "|");
	features.each_symbol(features.ctx, "group/none", "state", on_symbol, "|");
	assert_string_equal(symbols, "|0=R|16=X, (dead)");
}

TEST(without_tracefs_there_is_no_event)
{
	struct ebpf_features none;

	assert_int_equal(ebpf_features_new(NULL, &none), 0);
	assert_false(ebpf_has_field(&none, "group/thing", "pid"));
	ebpf_features_free(&none);
}

/* What the kernel says of itself twice agrees. */
TEST(the_running_kernel)
{
	struct ebpf_features real;

	assert_int_equal(ebpf_features_new("/sys/kernel/tracing", &real), 0);
	if (real.count_args(real.ctx, "sched_switch") < 0 ||
	    !ebpf_has_field(&real, "sched/sched_switch", "prev_pid")) {
		ebpf_features_free(&real);
		skip();
	}
	assert_in_range(real.count_args(real.ctx, "sched_switch"), 3, 8);
	assert_int_equal(real.count_args(real.ctx, "no_such_thing"), -ENOENT);
	assert_true(real.has_member(real.ctx, "task_struct", "pid"));
	assert_false(real.has_member(real.ctx, "task_struct", "no_such_field"));
	assert_false(real.has_member(real.ctx, "no_such_struct", "pid"));
	ebpf_features_free(&real);
}

TEST_GROUP(setup, teardown)
