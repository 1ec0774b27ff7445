/* SPDX-License-Identifier: Apache-2.0 */

#include "ebpf/engine/features.h"
#include "unit/test.h"

/* A kernel with these features. */
static struct kernel {
	bool has_btf;
	int switch_args; /* of sched_switch; 0: there is none */
	int pid_offset; /* in the event */
	const char *member; /* of task_struct, the only one */
} kernel;

static int count_args(void *ctx, const char *tracepoint)
{
	const struct kernel *k = ctx;

	if (!k->has_btf)
		return -EOPNOTSUPP;
	return !strcmp(tracepoint, "sched_switch") && k->switch_args ? k->switch_args : -ENOENT;
}

static int find_field(void *ctx, const char *event, const char *field, struct sonda_field *ret)
{
	const struct kernel *k = ctx;

	if (strcmp(event, "sched/sched_switch") != 0 || strcmp(field, "next_pid") != 0 ||
	    !k->pid_offset)
		return -ENOENT;
	*ret = (struct sonda_field){.offset = (uint16_t)k->pid_offset, .size = 4};
	return 0;
}

static bool has_member(void *ctx, const char *type, const char *member)
{
	const struct kernel *k = ctx;

	return !strcmp(type, "task_struct") && k->member && !strcmp(member, k->member);
}

static const struct ebpf_features features = {
	.count_args = count_args,
	.find_field = find_field,
	.has_member = has_member,
	.ctx = &kernel,
};

static const struct ebpf_need newest[] = {NEED_TP_BTF("sched_switch", 4, 4),
					  NEED_MEMBER("task_struct", "__state"), NEED_END};
static const struct ebpf_need older[] = {NEED_TP_BTF("sched_switch", 3, 3),
					 NEED_MEMBER("task_struct", "state"), NEED_END};
static const struct ebpf_need without_btf[] = {NEED_RAW_TP("sched/sched_switch", "next_pid", 3, 4),
					       NEED_END};
static const struct ebpf_need by_record[] = {NEED_FIELD("sched/sched_switch", "next_pid", 2),
					     MAY_FIELD("sched/sched_switch", "prev_state", 1),
					     NEED_END};
static const struct ebpf_variant ladder[] = {
	{.name = "newest", .needs = newest},
	{.name = "older", .needs = older},
	{.name = "raw_tp", .needs = without_btf},
	{.name = "tp", .needs = by_record},
};

static struct err_text why;

static int choose(struct kernel k, int first)
{
	kernel = k;
	why.text[0] = '\0';
	return ebpf_choose_variant(&features, ladder, ARRAY_SIZE(ladder), first, &why);
}

TEST_WITH(the_first_that_fits, NULL, NULL)
{
	assert_int_equal(choose((struct kernel){true, 4, 56, "__state"}, 0), 0);
	assert_int_equal(choose((struct kernel){true, 3, 56, "state"}, 0), 1);
	assert_int_equal(choose((struct kernel){false, 0, 56, NULL}, 0), 2);
}

TEST(families_that_did_not_load_are_skipped)
{
	assert_int_equal(choose((struct kernel){true, 4, 56, "__state"}, 1), 2);
	/* Raw tracepoints were refused. */
	assert_int_equal(choose((struct kernel){false, 0, 56, NULL}, 3), 3);
	assert_int_equal(choose((struct kernel){true, 4, 56, "__state"}, 4), -ENOENT);
}

/* Of a raw tracepoint too; in the record all have their names. */
TEST(where_arguments_are_not_known_the_record_is_read)
{
	assert_int_equal(choose((struct kernel){true, 5, 56, "__state"}, 0), 3);
	assert_non_null(strstr(why.text, "sched_switch has an unsupported number of arguments: 5"));
	assert_int_equal(choose((struct kernel){true, 4, 56, "no_other"}, 0), 2);
}

TEST(fields_go_where_the_format_says)
{
	struct sonda_field fields[SONDA_FIELDS] = {{0}};

	assert_int_equal(choose((struct kernel){false, 0, 60, NULL}, 3), 3);
	ebpf_find_fields(&features, &ladder[3], fields);
	assert_int_equal(fields[2].offset, 60);
	assert_int_equal(fields[2].size, 4);
	/* One that may be there, and is not, has no size. */
	assert_int_equal(fields[1].size, 0);
	assert_true(ebpf_has_field(&features, "sched/sched_switch", "next_pid"));
	assert_false(ebpf_has_field(&features, "sched/sched_switch", "prev_state"));
}

TEST_WITH(every_lack_is_named, NULL, NULL)
{
	assert_int_equal(choose((struct kernel){true, 5, 0, "state"}, 0), -ENOENT);
	assert_non_null(strstr(why.text, "sched_switch has an unsupported number of arguments: 5"));
	assert_int_equal(choose((struct kernel){true, 4, 0, "state"}, 0), -ENOENT);
	assert_non_null(strstr(why.text, "the kernel has no task_struct.__state"));
	assert_non_null(strstr(why.text, "; the kernel has no event sched/sched_switch"));
	assert_int_equal(choose((struct kernel){true, 0, 0, "state"}, 0), -ENOENT);
	assert_non_null(strstr(why.text, "no tracepoint sched_switch"));
	assert_int_equal(choose((struct kernel){.has_btf = false}, 0), -ENOENT);
	assert_non_null(strstr(why.text, "no BTF"));
}
