/* SPDX-License-Identifier: Apache-2.0 */

#include <bpf/btf.h>

#include "ebpf/user_map.c"
#include "unit/fixture.h"

static struct btf *btf;
static int u32, s64, chars, wrapped; /* types */
static struct map_layout layout;
static struct err_text why;

SETUP
{
	int char_type;

	btf = btf__new_empty();
	u32 = btf__add_int(btf, "unsigned int", 4, 0);
	s64 = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	char_type = btf__add_int(btf, "char", 1, BTF_INT_CHAR);
	chars = btf__add_array(btf, u32, char_type, 16);
	wrapped = btf__add_typedef(btf, "count_t", btf__add_const(btf, u32));
}

TEARDOWN
{
	btf__free(btf);
}

static int layout_it(int type, const char *map)
{
	memset(&layout, 0xa5, sizeof(layout));
	why.text[0] = '\0';
	return make_layout(btf, (uint32_t)type, map, &layout, &why);
}

FIXTURE_TEST(an_integer)
{
	const uint32_t v = 0xfffffffe;

	assert_int_equal(layout_it(wrapped, NULL), 0);
	assert_int_equal(layout.n, 1);
	assert_string_equal(layout.fields[0].name, "");
	assert_int_equal(layout.fields[0].size, 4);
	assert_int_equal(layout_read_integer(&layout.fields[0], &v), 0xfffffffe);
	layout.fields[0].is_signed = true;
	assert_int_equal(layout_read_integer(&layout.fields[0], &v), -2);
}

static int add_outer(void)
{
	int inner = btf__add_struct(btf, "inner", 8), outer;

	btf__add_field(btf, "x", u32, 0, 0);
	btf__add_field(btf, "y", wrapped, 32, 0);
	outer = btf__add_struct(btf, "outer", 16);
	btf__add_field(btf, "ns", s64, 0, 0);
	btf__add_field(btf, "in", inner, 64, 0);
	btf__add_decl_tag(btf, "sonda:unit=ns", outer, 0);
	btf__add_decl_tag(btf, "other:tag", outer, 0);
	btf__add_decl_tag(btf, "sonda:gauge", inner, 1);
	return outer;
}

FIXTURE_TEST(a_struct_with_a_struct_and_tags)
{
	const struct {
		int64_t ns;
		uint32_t x, y;
	} v = {-5, 6, 7};

	assert_int_equal(layout_it(add_outer(), NULL), 0);
	assert_int_equal(layout.n, 3);
	assert_string_equal(layout.fields[0].name, "ns");
	assert_int_equal(layout.fields[0].unit, TRACK_UNIT_NS);
	assert_false(layout.fields[0].is_gauge);
	assert_string_equal(layout.fields[1].name, "in.x");
	assert_int_equal(layout.fields[1].unit, TRACK_UNIT_NONE);
	assert_string_equal(layout.fields[2].name, "in.y");
	assert_true(layout.fields[2].is_gauge);
	assert_int_equal(layout_read_integer(&layout.fields[0], &v), -5);
	assert_int_equal(layout_read_integer(&layout.fields[2], &v), 7);
}

FIXTURE_TEST(tags_of_the_map_count_for_all_fields)
{
	int outer = add_outer(), var;

	var = btf__add_var(btf, "sonda_counter_x", BTF_VAR_GLOBAL_ALLOCATED, outer);
	btf__add_decl_tag(btf, "sonda:unit=req/s", var, -1);
	assert_int_equal(layout_it(outer, "sonda_counter_x"), 0);
	assert_int_equal(layout.fields[0].unit, TRACK_UNIT_NS); /* its own goes first */
	assert_string_equal(layout.fields[1].unit_name, "req/s");
}

FIXTURE_TEST(keys_are_formatted_as_text)
{
	const struct {
		char comm[16];
		uint32_t cpu;
	} key = {"a shell", 3};
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	int type;

	type = btf__add_struct(btf, "key", 20);
	btf__add_field(btf, "comm", chars, 0, 0);
	btf__add_field(btf, "cpu", u32, 128, 0);
	assert_int_equal(layout_it(type, NULL), 0);
	layout_format_key(&layout, &key, &b);
	assert_string_equal(b.s, "a shell, cpu 3");
	strbuf_clear(&b);
	assert_int_equal(layout_it(u32, NULL), 0);
	layout_format_key(&layout, &key.cpu, &b);
	assert_string_equal(b.s, "3");
}

static void refuses(int type, const char *sentence)
{
	assert_true(layout_it(type, NULL) < 0);
	assert_string_equal(why.text, sentence);
}

FIXTURE_TEST(values_that_are_no_counters_are_refused)
{
	int type, pointer;

	refuses(0, "has no BTF");
	refuses(btf__add_ptr(btf, u32),
		"has a type, which is neither an integer nor a struct of integers");
	refuses(btf__add_int(btf, "__int128", 16, 0),
		"has a type, which is neither an integer nor a struct of integers");
	refuses(btf__add_array(btf, u32, u32, 4),
		"has a type, which is neither an integer nor a struct of integers");
	type = btf__add_struct(btf, "bits", 4);
	btf__add_field(btf, "flag", u32, 0, 1);
	refuses(type, "has the bit field flag");
	pointer = btf__add_ptr(btf, u32);
	type = btf__add_struct(btf, "pointers", 8);
	btf__add_field(btf, "p", pointer, 0, 0);
	refuses(type, "has the field p, which is neither an integer nor a struct of integers");
	type = btf__add_struct(btf, "tagged", 4);
	btf__add_field(btf, "v", u32, 0, 0);
	btf__add_decl_tag(btf, "sonda:units=ns", type, 0);
	refuses(type, "has the tag \"sonda:units=ns\", which sonda does not know");
	refuses(btf__add_struct(btf, "empty", 0), "has no fields");
}

FIXTURE_TEST(too_many_fields_and_structs_without_end)
{
	int type, id;
	char name[8];

	type = btf__add_struct(btf, "many", 4 * (BTF_LAYOUT_FIELDS_MAX + 1));
	for (unsigned i = 0; i <= BTF_LAYOUT_FIELDS_MAX; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		btf__add_field(btf, name, u32, 32 * i, 0);
	}
	refuses(type, "has more than 32 fields");
	/* One that holds itself, as no compiler makes it. */
	id = (int)btf__type_cnt(btf);
	type = btf__add_struct(btf, "self", 8);
	assert_int_equal(type, id);
	btf__add_field(btf, "s", id, 0, 0);
	assert_true(layout_it(type, NULL) < 0);
	assert_non_null(strstr(why.text, "neither an integer"));
}
