/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of a user program, whose types this test makes: what becomes a track, and what is refused. */
#include <bpf/libbpf.h>

#include "ebpf/engine/object.h"
#include "ebpf/user_map.h"
#include "unit/client/read_tracks.h"
#include "unit/ebpf/bpf_image.h"
#include "unit/ebpf/fake_bpf.h"
#include "unit/fixture.h"
#include "unit/procfs/source_rig.h"

#define CPUS 2

static struct bpf_image b;
static struct image *file;
static struct ebpf_object *object;
static struct writer *writer;
static struct tracks *tracks;
static struct user_map map;
static struct err_text why;

bool writer_has_lost(const struct writer *w)
{
	return false;
}

SETUP
{
	fake_reset();
	fake_bpf_reset(CPUS);
	b = bpf_image_new();
	writer = writer_new(NULL, 1, WRITER_DROP);
	assert_int_equal(tracks_new("test", writer, &tracks), 0);
}

static void close_object(void)
{
	user_map_deinit(&map);
	map = (struct user_map){0};
	ebpf_object_free(object);
	object = NULL;
	free(file);
	file = NULL;
}

TEARDOWN
{
	close_object();
	btf__free(b.btf);
	tracks_free(tracks);
	writer_free(writer);
	fake_reset();
	fake_bpf_reset(0);
}

/* Loads the object with its maps, and makes tracks of the first one. Returns 0 or -errno. */
static int load(void)
{
	const struct ebpf_scope scope = {.own_pid = 1};
	struct ebpf_image image = {.name = "test", .is_foreign = true};

	file = bpf_image_end(&b);
	image.begin = file->bytes;
	image.end = file->bytes + file->len;
	if (ebpf_object_open(&image, &object, &why) < 0 ||
	    ebpf_object_load(object, &scope, 0, &why) < 0)
		fail_msg("%s", why.text);
	return user_map_init(&map, ebpf_object_next_map(object, NULL), ebpf_object_btf(object),
			     tracks, TRACK_ROOT, CPUS, &why);
}

static void read_all(void)
{
	tracks_begin(tracks, 1);
	assert_int_equal(user_map_read(&map), 0);
	tracks_end(tracks);
	read_tracks();
}

#define ARRAY BPF_MAP_TYPE_ARRAY
#define HASH BPF_MAP_TYPE_HASH

/* ---- values ---- */

FIXTURE_TEST(one_integer_is_one_track)
{
	int constant = btf__add_const(b.btf, b.u32);

	bpf_image_add(&b, "sonda_counter_x", ARRAY, 1, b.u32,
		      btf__add_typedef(b.btf, "count_t", constant));
	assert_int_equal(load(), 0);
	*(uint32_t *)fake_value("sonda_counter_x", 0) = 0xfffffffe;
	read_all();
	assert_int_equal(read_last("x"), 0xfffffffe);
	assert_int_equal(rd.n_tracks, 1);
}

FIXTURE_TEST(integers_of_all_sizes_and_signs)
{
	static const struct {
		int size, encoding;
		int64_t value; /* of bytes that are all 0xfe */
	} cases[] = {{1, 0, 0xfe},
		     {2, 0, 0xfefe},
		     {1, BTF_INT_SIGNED, -2},
		     {2, BTF_INT_SIGNED, -258},
		     {8, BTF_INT_SIGNED, -72340172838076674}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (i)
			b = bpf_image_new();
		bpf_image_add(&b, "sonda_counter_x", ARRAY, 1, b.u32,
			      btf__add_int(b.btf, "n", (size_t)cases[i].size, cases[i].encoding));
		assert_int_equal(load(), 0);
		memset(fake_value("sonda_counter_x", 0), 0xfe, (size_t)cases[i].size);
		read_all();
		assert_true(read_last("x") == cases[i].value);
		close_object();
		tracks_clear(tracks);
		fake_reset_packets();
		tracks_free(tracks);
		assert_int_equal(tracks_new("test", writer, &tracks), 0);
	}
}

static int add_outer(void)
{
	int inner = bpf_image_struct(&b, 8, "x", b.u32), outer;

	btf__add_field(b.btf, "y", b.u32, 32, 0);
	outer = bpf_image_struct(&b, 16, "ns", b.s64);
	btf__add_field(b.btf, "in", inner, 64, 0);
	btf__add_decl_tag(b.btf, "sonda:unit=ns", outer, 0);
	btf__add_decl_tag(b.btf, "other:tag", outer, 0);
	btf__add_decl_tag(b.btf, "sonda:gauge", inner, 1);
	return outer;
}

/* A tag of the map counts for all fields that have none of their own. */
FIXTURE_TEST(a_struct_is_a_group_and_tags_have_units)
{
	const struct {
		int64_t ns;
		uint32_t x, y;
	} v = {-5, 6, 7};
	int var = bpf_image_add(&b, "sonda_counter_s", ARRAY, 1, b.u32, add_outer());

	btf__add_decl_tag(b.btf, "sonda:unit=req/s", var, -1);
	assert_int_equal(load(), 0);
	memcpy(fake_value("sonda_counter_s", 0), &v, sizeof(v));
	read_all();
	assert_int_equal(read_last("s/ns"), -5);
	assert_int_equal(read_last("s/in.x"), 6);
	assert_int_equal(read_last("s/in.y"), 7);
	assert_has(packets_of(0), "name: 'ns' counter { unit: 1 ");
	assert_has(packets_of(0), "name: 'in.x' counter { unit_name: 'req/s'");
}

FIXTURE_TEST(values_of_all_cpus_are_summed)
{
	bpf_image_add(&b, "sonda_counter_x", BPF_MAP_TYPE_PERCPU_ARRAY, 1, b.u32, b.u32);
	assert_int_equal(load(), 0);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		*(uint32_t *)fake_value("sonda_counter_x", cpu) = 10 + cpu;
	read_all();
	assert_int_equal(read_last("x"), 21);
}

/* ---- keys ---- */

FIXTURE_TEST(keys_are_names)
{
	static const struct {
		char comm[16];
		uint32_t cpu;
		int32_t unused;
		int64_t level;
	} keys[] = {{"a shell", 3, 0, -1}, {"sixteen letters!", 4, 0, 1}};
	int key = bpf_image_struct(&b, 32, "comm", b.chars);
	const uint64_t values[] = {5, 6};

	btf__add_field(b.btf, "cpu", b.u32, 128, 0);
	btf__add_field(b.btf, "level", b.s64, 192, 0);
	bpf_image_add(&b, "sonda_counter_by", HASH, 8, key, b.u64);
	assert_int_equal(load(), 0);
	for (int i = 0; i < 2; i++)
		fake_put(fake_map("sonda_counter_by"), &keys[i], &values[i]);
	read_all();
	assert_int_equal(read_last("by/a shell, cpu 3, level -1"), 5);
	assert_int_equal(read_last("by/sixteen letters!, cpu 4, level 1"), 6);
}

FIXTURE_TEST(elements_have_tracks_from_their_first_value_until_they_are_deleted)
{
	const uint32_t keys[] = {7, 8};
	struct {
		uint64_t v;
	} zero = {0}, one = {1};
	int value = bpf_image_struct(&b, 8, "v", b.u64);

	bpf_image_add(&b, "sonda_counter_by", HASH, 8, b.u32, value);
	assert_int_equal(load(), 0);
	fake_put(fake_map("sonda_counter_by"), &keys[0], &zero);
	fake_put(fake_map("sonda_counter_by"), &keys[1], &one);
	read_all();
	assert_null(read_find("by/7"));
	assert_int_equal(read_last("by/8/v"), 1);
	fake_put(fake_map("sonda_counter_by"), &keys[0], &one);
	fake_remove(fake_map("sonda_counter_by"), &keys[1]);
	read_all();
	assert_int_equal(read_last("by/7/v"), 1);
	assert_int_equal(map.n_elements, 1);
	/* An incomplete read does not show which elements are gone. */
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, "sonda_counter_by", EIO);
	fake_bpf_fail(BPF_MAP_GET_NEXT_KEY, "sonda_counter_by", EIO);
	assert_true(user_map_read(&map) < 0);
	assert_int_equal(map.n_elements, 1);
	fake_bpf_fail_no_more();
	/* A value that is 0 again stays. */
	fake_put(fake_map("sonda_counter_by"), &keys[0], &zero);
	read_all();
	assert_int_equal(read_last("by/7/v"), 0);
}

FIXTURE_TEST(elements_beyond_the_limit_are_counted)
{
	const uint64_t one = 1;

	bpf_image_add(&b, "sonda_counter_a", ARRAY, USER_MAP_KEYS_MAX + 40, b.u32, b.u64);
	assert_int_equal(load(), 0);
	for (uint32_t i = 0; i < USER_MAP_KEYS_MAX + 40; i++)
		memcpy(fake_value("sonda_counter_a", i), &one, sizeof(one));
	read_all();
	assert_int_equal(map.n_elements, USER_MAP_KEYS_MAX);
	assert_int_equal(map.n_left_out, 40);
	assert_int_equal(read_last("a/255"), 1);
	assert_null(read_find("a/256"));
}

/* ---- what is refused ---- */

/* The map is refused with that sentence. */
static void refuses(const char *sentence)
{
	assert_true(load() < 0);
	assert_string_equal(why.text, sentence);
	close_object();
	fake_bpf_reset(CPUS);
	b = bpf_image_new();
}

static void refuses_value(int type, const char *sentence)
{
	bpf_image_add(&b, "sonda_counter_x", ARRAY, 1, b.u32, type);
	refuses(sentence);
}

#define NEITHER ", which is neither an integer nor a struct of integers"

FIXTURE_TEST(values_that_are_no_counters)
{
	int type;

	refuses_value(btf__add_ptr(b.btf, b.u32),
		      "its value is neither an integer nor a struct of integers");
	refuses_value(btf__add_int(b.btf, "__int128", 16, 0),
		      "its value is neither an integer nor a struct of integers");
	refuses_value(btf__add_array(b.btf, b.u32, b.u32, 4),
		      "its value is neither an integer nor a struct of integers");
	refuses_value(btf__add_float(b.btf, "double", 8),
		      "its value is neither an integer nor a struct of integers");
	refuses_value(b.chars, "its value contains text, which cannot be recorded as a counter");
	type = btf__add_struct(b.btf, "bits", 4);
	btf__add_field(b.btf, "flag", b.u32, 0, 1);
	refuses_value(type, "its value has the bit field 'flag'");
	type = btf__add_ptr(b.btf, b.u32);
	refuses_value(bpf_image_struct(&b, 8, "p", type), "its value has the field 'p'" NEITHER);
	type = bpf_image_struct(&b, 4, "v", b.u32);
	btf__add_decl_tag(b.btf, "sonda:units=ns", type, 0);
	refuses_value(type, "its value has the unknown tag \"sonda:units=ns\"");
	refuses_value(btf__add_union(b.btf, "u", 4),
		      "its value is neither an integer nor a struct of integers");
	bpf_image_add(&b, "sonda_counter_x", ARRAY, 1, 0, 0);
	refuses("its key has no BTF");
	bpf_image_add(&b, "sonda_counter_x", HASH, 1, btf__add_float(b.btf, "double", 8), b.u64);
	refuses("its key is neither an integer nor a struct of integers");
}

FIXTURE_TEST(too_many_fields_and_structs_without_end)
{
	int type = btf__add_struct(b.btf, "many", 4 * (BTF_LAYOUT_FIELDS_MAX + 1)), inner = b.u32;
	char name[8];

	for (unsigned i = 0; i <= BTF_LAYOUT_FIELDS_MAX; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		btf__add_field(b.btf, name, b.u32, 32 * i, 0);
	}
	refuses_value(type, "its value has more than 32 fields");
	for (int i = 0; i < 12; i++)
		inner = bpf_image_struct(&b, 4, "s", inner);
	bpf_image_add(&b, "sonda_counter_x", ARRAY, 1, b.u32, inner);
	refuses("its value has the field 's.s.s.s.s.s.s.s.s'" NEITHER);
}

FIXTURE_TEST(maps_that_are_too_large_or_of_another_kind)
{
	int text = btf__add_array(b.btf, b.u32, btf__add_int(b.btf, "char", 1, BTF_INT_CHAR), 65);

	bpf_image_add(&b, "sonda_counter_x", HASH, 1, text, b.u64);
	refuses("has keys larger than 64 bytes or values larger than 4096 bytes");
	bpf_image_add(&b, "sonda_counter_x", HASH, 1, b.u32, btf__add_struct(b.btf, "s", 4097));
	refuses("has keys larger than 64 bytes or values larger than 4096 bytes");
	bpf_image_add(&b, "sonda_counter_x", ARRAY, USER_MAP_ELEMENTS_MAX + 1, b.u32, b.u32);
	refuses("has 65537 elements; the limit is 65536, because all are read in each period");
	bpf_image_add(&b, "sonda_counter_x", BPF_MAP_TYPE_HASH_OF_MAPS, 1, b.u32, b.u32);
	refuses("is neither an array map nor a hash map");
}
