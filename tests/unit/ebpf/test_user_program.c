/* SPDX-License-Identifier: Apache-2.0 */

#include "bpf/sonda_program.h"
#include "ebpf/tracks/event_tracks.h"
#include "ebpf/user_program.h"
#include "unit/ebpf/bpf_image.h"
#include "unit/ebpf/family_rig.h"
#include "unit/fixture.h"
#include "unit/temp_dir.h"

static void *root; /* a directory */
static char dir[96];
static struct err_text why;

static const char *in(const char *name)
{
	static unsigned turn;

	return temp_dir_path(&root, turn++ % 2, name);
}

static void make_file(const char *name, const char *text)
{
	FILE *f = fopen(in(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(in(name), 0644), 0);
}

SETUP
{
	if (getuid())
		skip(); /* the files have to be root's */
	assert_int_equal(temp_dir_setup(&root), 0);
	snprintf(dir, sizeof(dir), "%s/d", (char *)root);
	assert_int_equal(mkdir(dir, 0755), 0);
	make_file("d/a.bpf.o", "bytes");
	make_file("outside.bpf.o", "others");
}

TEARDOWN
{
	temp_dir_teardown(&root);
}

/* Why the program is refused; "" if its bytes were read. */
static const char *read_it(const char *name)
{
	struct user_program *p;

	why.text[0] = '\0';
	if (!user_program_new(dir, name, &p, &why)) {
		const struct ebpf_image *image = &user_program_family(p)->variants->image;

		assert_int_equal(image->end - image->begin, 5);
		assert_memory_equal(image->begin, "bytes", 5);
		user_program_free(p);
	}
	return why.text;
}

#define assert_refused(name, words) assert_non_null(strstr(read_it(name), words))

FIXTURE_TEST(a_good_file_and_a_link_in_the_dir)
{
	assert_string_equal(read_it("a"), "");
	assert_int_equal(symlink("a.bpf.o", in("d/b.bpf.o")), 0);
	assert_string_equal(read_it("b"), "");
}

FIXTURE_TEST(names_that_lead_elsewhere)
{
	assert_refused("../outside", "is not a valid program name");
	assert_refused("/etc/passwd", "is not a valid program name");
	assert_refused("", "is not a valid program name");
	assert_refused("..", "is not a valid program name");
	assert_refused("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1 to 48");
	assert_refused("none", "No such file");
	assert_int_equal(symlink("../outside.bpf.o", in("d/out.bpf.o")), 0);
	assert_refused("out", "a symbolic link to a file outside");
	assert_int_equal(symlink(in("outside.bpf.o"), in("d/far.bpf.o")), 0);
	assert_refused("far", "a symbolic link to a file outside");
}

FIXTURE_TEST(files_of_others)
{
	assert_int_equal(chown(in("d/a.bpf.o"), 1, 1), 0);
	assert_refused("a", "is owned by uid");
	assert_int_equal(chown(in("d/a.bpf.o"), 0, 0), 0);
	assert_int_equal(chmod(in("d/a.bpf.o"), 0664), 0);
	assert_refused("a", "a.bpf.o is writable by users other than its owner");
	assert_int_equal(chmod(in("d/a.bpf.o"), 0646), 0);
	assert_refused("a", "a.bpf.o is writable by users other than its owner");
	assert_int_equal(mkdir(in("d/directory.bpf.o"), 0755), 0);
	assert_refused("directory", "is not a file");
	assert_int_equal(mkfifo(in("d/fifo.bpf.o"), 0644), 0); /* it is not opened for long */
	assert_refused("fifo", "is not a file");
}

FIXTURE_TEST(a_dir_of_others)
{
	assert_int_equal(chmod(dir, 0775), 0);
	assert_refused("a", "d is writable by users other than its owner");
	assert_int_equal(chmod(dir, 0777), 0);
	assert_refused("a", "d is writable by users other than its owner");
}

FIXTURE_TEST(a_file_that_is_too_long)
{
	assert_int_equal(truncate(in("d/a.bpf.o"), 1 << 30), 0);
	assert_refused("a", "File too large");
}

/* ---- runs ---- */

static struct user_program *program;

/* Starts the program of those maps. Returns 0 or -errno, and sets rig.why. */
static int run(struct bpf_image *b)
{
	struct image *f = bpf_image_end(b);
	FILE *out = fopen(in("d/a.bpf.o"), "w");

	assert_int_equal(fwrite(f->bytes, 1, f->len, out), f->len);
	fclose(out);
	free(f);
	if (user_program_new(dir, "a", &program, &why) != 0)
		fail_msg("%s", why.text);
	return rig_try(user_program_family(program));
}

static int run_setup(void **state)
{
	fixture_setup(state);
	return rig_setup(state);
}

static int run_teardown(void **state)
{
	int r = rig_end(state);

	user_program_free(program);
	program = NULL;
	fixture_teardown(state);
	return r;
}

#define RUN_TEST(name) TEST_WITH(name, run_setup, run_teardown)

/* The reason of the last error; "": there is none. */
static const char *last_error(void)
{
	return rig.errors.n ? rig.errors.all[rig.errors.n - 1].reason : "";
}

RUN_TEST(maps_are_tracks_below_the_program_and_a_bad_one_does_not_end_it)
{
	struct bpf_image b = bpf_image_new();
	int real = btf__add_float(b.btf, "double", 8);

	bpf_image_add(&b, "sonda_counter_x", BPF_MAP_TYPE_ARRAY, 1, b.u32, b.u64);
	bpf_image_add(&b, "sonda_counter_y", BPF_MAP_TYPE_ARRAY, 1, b.u32, real);
	bpf_image_add(&b, "other", BPF_MAP_TYPE_ARRAY, 1, b.u32, real);
	bpf_image_add(&b, "sonda_events", BPF_MAP_TYPE_ARRAY, 1, b.u32, b.u64);
	assert_int_equal(run(&b), 0);
	assert_int_equal(rig.errors.n, 2);
	assert_string_equal(rig.errors.all[0].reason,
			    "sonda_counter_y is skipped: its value is neither an integer nor a "
			    "struct of integers");
	assert_string_equal(last_error(), "sonda_events is ignored: it is not a ring buffer");
	*(uint64_t *)fake_value("sonda_counter_x", 0) = 7;
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last("eBPF/a/x"), 7);
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, "sonda_counter_x", EIO);
	fake_bpf_fail(BPF_MAP_GET_NEXT_KEY, "sonda_counter_x", EIO);
	assert_int_equal(rig_read(), -EIO);
	ebpf_run_remove_tracks(&rig.run);
}

RUN_TEST(a_program_without_maps_for_us_is_refused)
{
	struct bpf_image b = bpf_image_new();

	bpf_image_add(&b, "counter", BPF_MAP_TYPE_ARRAY, 1, b.u32, b.u64);
	assert_int_equal(run(&b), -ENOENT);
	assert_non_null(strstr(rig.why.text, "a.bpf.o has no usable map \"sonda_counter_...\""));
}

RUN_TEST(maps_and_elements_beyond_the_limits_are_reported_once)
{
	static char names[USER_MAPS_MAX + 1][24];
	struct bpf_image b = bpf_image_new();

	for (uint32_t i = 0; i <= USER_MAPS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "sonda_counter_%c", (char)('A' + i));
		bpf_image_add(&b, names[i], BPF_MAP_TYPE_ARRAY, i == 1 ? 300 : 1, b.u32, b.u64);
	}
	assert_int_equal(run(&b), 0);
	assert_int_equal(rig.errors.n, 1);
	assert_string_equal(last_error(), "sonda_counter_a is skipped: the limit is 32");
	for (uint32_t i = 0; i < 300; i++)
		*(uint64_t *)fake_value("sonda_counter_B", i) = 1;
	assert_int_equal(rig_read(), 0);
	assert_int_equal(rig_read(), 0);
	assert_int_equal(rig.errors.n, 2);
	assert_non_null(strstr(last_error(), "sonda_counter_B has more than 256 elements"));
	assert_int_equal(read_last("eBPF/a/elements left out"), 44);
}

RUN_TEST(events_of_the_ring_are_read_and_bad_ones_counted)
{
	struct sonda_event event = {.type = SONDA_INSTANT, .name = "ended"};
	struct bpf_image b = bpf_image_new();

	bpf_image_add(&b, "sonda_events", BPF_MAP_TYPE_RINGBUF, 256 << 10, 0, 0);
	assert_int_equal(run(&b), 0);
	event.time = clock_boot_ns();
	fake_ring_put(EVENT_RING_MAP, &event, sizeof(event));
	fake_ring_put(EVENT_RING_MAP, &event, 8);
	assert_int_equal(rig_read(), 0);
	assert_non_null(read_find("eBPF/a/bad events"));
	assert_int_equal(read_last("eBPF/a/bad events"), 1);
	assert_int_equal(rig.errors.n, 1);
	for (unsigned i = 0; i < EVENT_TRACKS_EVENTS_PER_SECOND + 5; i++) {
		if (i % 1000 == 0)
			assert_int_equal(rig_read(), 0);
		fake_ring_put(EVENT_RING_MAP, &event, sizeof(event));
	}
	assert_int_equal(rig_read(), 0);
	assert_int_equal(rig_read(), 0);
	assert_true(read_last("eBPF/a/events left out") > 0);
	assert_int_equal(rig.errors.n, 2);
	assert_non_null(strstr(last_error(), "events per second"));
}
