/* SPDX-License-Identifier: Apache-2.0 */
/* What the arbiter does by itself; together with writers it is tested in test_writer.c. */

#include "client/transport/arbiter.h"
#include "client/transport/writer.h"
#include "unit/client/fake_service.h"
#include "unit/test.h"

static struct fake_service s;
static struct arbiter *a;

static void rig_init(uint32_t page_size, uint32_t n_pages, enum smb_layout layout)
{
	struct arbiter_options o = {.ops = &fake_ops, .ctx = &s, .stall_ms = 20, .layout = layout};

	fake_init(&s, page_size, n_pages);
	assert_int_equal(arbiter_new(&o, &a), 0);
	s.a = a;
	assert_int_equal(arbiter_attach(a, s.fd, page_size), 0);
	s.target_of[1] = 5; /* the writer of take() */
}

static void rig_deinit(void)
{
	assert_int_equal(s.violations, 0);
	arbiter_free(a);
	fake_deinit(&s);
}

static void turn(void)
{
	fake_turn(&s);
}

static uint32_t next_chunk_id;

static bool take(struct smb_chunk *c)
{
	const struct smb_chunk_header h = {.writer_id = 1, .chunk_id = next_chunk_id};

	if (!arbiter_acquire_chunk(a, &h, 0, c))
		return false;
	next_chunk_id++;
	return true;
}

static void give(const struct smb_chunk *c, uint8_t flags)
{
	struct smb_chunk_header h = smb_header_load(c->header);

	h.count = 1;
	h.flags = flags;
	smb_header_store_packets(c->header, 1, flags);
	arbiter_release_chunk(a, c, &h, 5);
}

static int setup(void **state)
{
	next_chunk_id = 0;
	return 0;
}

/* ---- memory ---- */

#define FIXTURE_TEST(name) TEST_WITH(name, setup, NULL)

/* A test with so many pages of this size, which are divided so. */
#define ARBITER_TEST(name, page_size, n_pages, layout)                                             \
	static void name##_in_rig(void);                                                           \
	FIXTURE_TEST(name)                                                                         \
	{                                                                                          \
		rig_init(page_size, n_pages, layout);                                              \
		name##_in_rig();                                                                   \
		rig_deinit();                                                                      \
	}                                                                                          \
	static void name##_in_rig(void)

FIXTURE_TEST(memory_that_breaks_the_abi_is_refused)
{
	struct arbiter_options o = {.ops = &fake_ops, .ctx = &s};
	struct smb_chunk c;
	void *p;
	int fd;

	fake_init(&s, 4096, 3);
	assert_int_equal(arbiter_new(&o, &a), 0);
	s.a = a;
	assert_false(take(&c));
	assert_int_equal(arbiter_attach(a, s.fd, 0), -EINVAL);
	assert_int_equal(arbiter_attach(a, s.fd, 8192), -EINVAL); /* 3 pages of 4 KiB */
	assert_int_equal(arbiter_attach(a, s.fd, 5000), -EINVAL);
	assert_int_equal(arbiter_attach(a, s.fd, 65536), -EINVAL);
	assert_int_equal(arbiter_attach(a, -1, 4096), -EPERM);
	assert_int_equal(shm_create(SMB_MAX_SIZE + 4096, &fd, &p), 0);
	assert_int_equal(arbiter_attach(a, fd, 4096), -EFBIG);
	shm_unmap(p, SMB_MAX_SIZE + 4096);
	close(fd);
	fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* it could shrink */
	assert_int_equal(ftruncate(fd, 3 * 4096), 0);
	assert_int_equal(arbiter_attach(a, fd, 4096), -EPERM);
	close(fd);
	assert_false(take(&c));
	assert_int_equal(arbiter_attach(a, s.fd, 4096), 0);
	assert_int_equal(arbiter_attach(a, s.fd, 4096), -EALREADY);
	assert_true(take(&c));
	arbiter_detach(a);
	assert_false(take(&c));
	assert_int_equal(arbiter_attach(a, s.fd, 4096), -EALREADY);
	rig_deinit();
	arbiter_free(NULL);
}

ARBITER_TEST(chunks_are_taken_page_by_page_and_round, 4096, 3, SMB_DIV1)
{
	struct smb_chunk c[4];

	for (uint32_t i = 0; i < 3; i++) {
		assert_true(take(&c[i]));
		assert_int_equal(c[i].page, i);
		assert_int_equal(c[i].index, 0);
		assert_int_equal(c[i].payload_size, 4080);
		assert_int_equal(smb_load_word(&s.smb, i), SMB_DIV1 << 28 | SMB_BEING_WRITTEN);
		assert_int_equal(smb_header_load(c[i].header).chunk_id, i);
	}
	assert_false(take(&c[3]));
	give(&c[0], 0);
	give(&c[1], 0); /* half of the memory: at once */
	assert_int_equal(s.n_chunks, 2);
	assert_int_equal(smb_load_word(&s.smb, 0), 0);
	assert_true(take(&c[3]));
	assert_int_equal(c[3].page, 0); /* on from the last page, not the first free one */
}

FIXTURE_TEST(pages_that_are_divided_otherwise_are_used)
{
	struct smb_chunk c;

	for (int layout = SMB_DIV1; layout <= SMB_DIV14; layout++) {
		rig_init(4096, 2, SMB_DIV1);
		assert_true(smb_partition(&s.smb, 0, (enum smb_layout)layout));
		for (uint32_t i = 0; i < smb_layout_chunks((uint32_t)layout); i++) {
			assert_true(take(&c));
			assert_int_equal(c.page, 0);
			assert_int_equal(c.index, i);
			assert_int_equal(c.payload_size + 8,
					 smb_chunk_size(4096, (uint32_t)layout));
		}
		assert_true(take(&c));
		assert_int_equal(c.page, 1);
		assert_false(take(&c));
		rig_deinit();
	}
}

/* Whoever shares the memory may write anything into a page's word. */
ARBITER_TEST(words_that_break_the_rules_are_passed_by, 4096, 3, SMB_DIV1)
{
	struct smb_chunk c;

	atomic_store(&smb_page(&s.smb, 0)->word, 6u << 28);
	atomic_store(&smb_page(&s.smb, 1)->word, UINT32_MAX);
	assert_true(take(&c));
	assert_int_equal(c.page, 2);
	assert_false(take(&c));
	/* and what is not there any more is not committed */
	atomic_store(&smb_page(&s.smb, 2)->word, 0);
	give(&c, 0);
	arbiter_commit(a);
	assert_int_equal(s.n_commits, 0);
}

/* ---- commits ---- */

ARBITER_TEST(what_one_turn_gives_goes_as_one_commit, 4096, 20, SMB_DIV1)
{
	struct smb_chunk c;

	for (int i = 0; i < 8; i++) {
		assert_true(take(&c));
		give(&c, 0);
	}
	assert_int_equal(s.n_commits, 0);
	turn();
	assert_int_equal(s.n_commits, 1);
	assert_int_equal(s.n_chunks, 8);
	turn();
	assert_int_equal(s.n_commits, 1);
	arbiter_commit(a);
	assert_int_equal(s.n_commits, 1);
}

ARBITER_TEST(flush_answers_ride_on_what_is_pending, 4096, 20, SMB_DIV1)
{
	struct smb_chunk c;

	assert_true(take(&c));
	give(&c, 0);
	arbiter_ack_flush(a, 12);
	assert_int_equal(s.n_commits, 1);
	assert_int_equal(s.n_chunks, 1);
	assert_int_equal(s.flush_id, 12);
	arbiter_ack_flush(a, 13);
	assert_int_equal(s.n_commits, 2);
	assert_int_equal(s.flush_id, 13);
}

ARBITER_TEST(more_chunks_than_can_be_held_are_patched_by_messages, 32768, 10, SMB_DIV14)
{
	struct chunk_patch p = {.writer_id = 1, .target_buffer = 5, .offset = 8};
	struct smb_chunk c;

	arbiter_patch_in_place(a, true);
	for (int i = 0; i < 66; i++) {
		assert_true(take(&c));
		give(&c, SMB_NEEDS_PATCHING);
	}
	memcpy(p.data, "\x81\x80\x80\x00", 4);
	for (uint32_t i = 0; i < 66; i++) {
		p.chunk_id = i;
		arbiter_add_patch(a, &p);
	}
	turn();
	assert_int_equal(s.n_chunks, 66);
	assert_int_equal(s.n_patches, 2);
	for (int i = 0; i < 66; i++) {
		assert_int_equal(s.chunks[i].h.flags, 0);
		assert_memory_equal(s.chunks[i].payload + 8, p.data, 4);
	}
}

ARBITER_TEST(a_service_that_frees_chunks_before_they_are_sent_loses_only_them, 4096, 20, SMB_DIV1)
{
	struct smb_chunk c;

	for (int i = 0; i < 5; i++) {
		assert_true(take(&c));
		assert_int_equal(c.page, 0);
		give(&c, 0);
		assert_true(smb_acquire_complete(&s.smb, c.page, c.index, &c));
		assert_true(smb_release_free(&s.smb, &c));
	}
	turn(); /* one chunk is announced, and is not there */
	assert_int_equal(s.violations, 1);
	s.violations = 0;
	next_chunk_id = 0;
	for (int i = 0; i < 3; i++) {
		assert_true(take(&c));
		give(&c, 0);
	}
	turn();
	assert_int_equal(s.n_chunks, 3);
}

ARBITER_TEST(more_patches_than_a_batch_holds_go_out_at_once, 4096, 20, SMB_DIV1)
{
	struct chunk_patch p = {.writer_id = 1, .target_buffer = 5, .more = true};
	struct smb_chunk c;

	assert_true(take(&c));
	give(&c, SMB_NEEDS_PATCHING);
	turn();
	memcpy(p.data, "\x81\x80\x80\x00", 4);
	for (uint16_t i = 0; i < 1000; i++) {
		p.offset = i;
		p.more = i < 999;
		arbiter_add_patch(a, &p);
	}
	assert_int_equal(s.n_patches, 512);
	turn();
	assert_int_equal(s.n_patches, 1000);
	assert_int_equal(s.chunks[0].h.flags, 0);
}

/* ---- writer ids ---- */

ARBITER_TEST(ids_go_round_and_run_out, 4096, 2, SMB_DIV1)
{
	s.target_of[1] = 0; /* there is no writer yet */
	assert_int_equal(arbiter_add_writer(a, 5), 1);
	assert_int_equal(arbiter_add_writer(a, 5), 2);
	arbiter_remove_writer(a, 1);
	assert_int_equal(arbiter_add_writer(a, 5), 3); /* not 1 again so soon */
	for (uint16_t id = 4; id <= SMB_MAX_WRITER_ID; id++)
		assert_int_equal(arbiter_add_writer(a, 5), id);
	assert_int_equal(arbiter_add_writer(a, 5), 1);
	assert_int_equal(arbiter_add_writer(a, 5), 0);
	assert_null(writer_new(a, 5, WRITER_DROP));
	arbiter_remove_writer(a, 20000);
	assert_int_equal(arbiter_add_writer(a, 6), 20000);
	assert_int_equal(s.target_of[20000], 6);
}
