/* SPDX-License-Identifier: Apache-2.0 */

#include "base/system/shm.h"
#include "config/limits.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* A producer that is connected to nothing. */
struct fixture {
	struct quota quota;
	struct ipc_peer peer;
	struct producer_port p;
	uid_t uid; /* of the consumer */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	quota_init(&f->quota);
	quota_open(&f->p.account, &f->quota, 1);
	f->p.peer = &f->peer;
	f->p.smb_fd = -1;
	f->p.name = (char *)"prod";
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	producer_memory_deinit(&f->p);
	producer_memory_deinit(&f->p);
	assert_int_equal(f->quota.held[QUOTA_SMB_BYTES], 0);
	free(f);
	return 0;
}

static void ensure(struct fixture *f, const char *config_text, uint32_t size, uint32_t page)
{
	Pb__TraceConfig *c = peer_parse_config(config_text);

	assert_int_equal(producer_memory_ensure(&f->p, c, f->uid), 0);
	assert_int_equal(f->p.smb_size, size);
	assert_int_equal(f->p.smb.page_size, page);
	assert_int_equal(f->p.smb.n_pages, size / page);
	assert_int_equal(f->quota.held[QUOTA_SMB_BYTES], size);
	assert_true(f->p.smb_fd >= 0);
	producer_memory_deinit(&f->p);
	assert_int_equal(f->p.smb_fd, -1);
	pb__trace_config__free_unpacked(c, NULL);
}

TEST_STATE(remote_producer_has_a_page_size_and_no_memory, setup, teardown, struct fixture *f)
{
	Pb__TraceConfig *c =
		peer_parse_config("producers { producer_name: 'prod' page_size_kb: 8 }");

	f->peer.is_remote = true;
	assert_false(producer_memory_is_ready(&f->p));
	assert_int_equal(producer_memory_ensure(&f->p, c, f->uid), 0);
	assert_true(producer_memory_is_ready(&f->p));
	assert_int_equal(f->p.emulated_page_size, 8192);
	assert_null(f->p.smb.base);
	assert_int_equal(f->p.smb_fd, -1);
	assert_int_equal(f->quota.held[QUOTA_SMB_BYTES], 0);
	pb__trace_config__free_unpacked(c, NULL);
}

TEST_STATE(sizes_come_from_config_then_hints_then_default, setup, teardown, struct fixture *f)
{
	const char *config =
		"producers { producer_name: 'other' shm_size_kb: 64 } "
		"producers { producer_name: 'prod' shm_size_kb: 512 page_size_kb: 16 } "
		"producers { producer_name: 'prod' shm_size_kb: 4 page_size_kb: 4 }";

	ensure(f, "", DEFAULT_SMB_BYTES, DEFAULT_SMB_PAGE_BYTES);
	f->p.size_hint = 2 << 20;
	f->p.page_size_hint = 32768;
	ensure(f, "", 2 << 20, 32768);
	ensure(f, config, 512 << 10, 16384);
	ensure(f, "producers { producer_name: 'prod' shm_size_kb: 1024 }", 1 << 20, 32768);
	ensure(f, "producers { producer_name: 'prod' page_size_kb: 8 }", 2 << 20, 8192);
}

#define SIZE_4K "producers { producer_name: 'prod' shm_size_kb: 4 page_size_kb: 4 }"
#define SIZE_4M "producers { producer_name: 'prod' shm_size_kb: 4096 page_size_kb: 32 }"

/* The size stays for the sessions of all users, until the producer connects again. */
TEST_STATE(no_other_user_chooses_the_size, setup, teardown, struct fixture *f)
{
	f->uid = 4242;
	f->p.size_hint = 2 << 20;
	f->p.page_size_hint = 16384;
	ensure(f, SIZE_4K, 2 << 20, 16384);
	ensure(f, SIZE_4M, 2 << 20, 16384);
	f->p.size_hint = f->p.page_size_hint = 0;
	ensure(f, SIZE_4K, DEFAULT_SMB_BYTES, DEFAULT_SMB_PAGE_BYTES);
}

TEST_STATE(own_user_makes_it_larger_only, setup, teardown, struct fixture *f)
{
	f->uid = f->peer.uid = 4242;
	f->p.size_hint = 2 << 20;
	f->p.page_size_hint = 16384;
	ensure(f, SIZE_4K, 2 << 20, 16384);
	ensure(f, SIZE_4M, 4 << 20, 32768);
	f->uid = 0;
	ensure(f, SIZE_4K, 4 << 10, 4 << 10);
}

TEST_STATE(illegal_geometry_becomes_the_default, setup, teardown, struct fixture *f)
{
	static const uint32_t hints[][2] = {
		{1 << 20, 4095}, {1 << 20, 12288}, {1 << 20, 5000}, {4095, 4096},
		{4096, 8192},	 {4097, 4096},	   {1, 1},
	};

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		f->p.size_hint = hints[i][0];
		f->p.page_size_hint = hints[i][1];
		ensure(f, "", DEFAULT_SMB_BYTES, DEFAULT_SMB_PAGE_BYTES);
	}
}

TEST_STATE(too_large_is_cut_to_the_most, setup, teardown, struct fixture *f)
{
	f->p.size_hint = 256u << 20;
	f->p.page_size_hint = 65536;
	ensure(f, "", 32u << 20, 32768);
	f->p.size_hint = UINT32_MAX;
	ensure(f, "producers { producer_name: 'prod' shm_size_kb: 4294967295 }", 32u << 20, 32768);
}

TEST_STATE(memory_of_the_producer_is_taken, setup, teardown, struct fixture *f)
{
	void *mine;
	int fd;

	assert_int_equal(shm_create(128 << 10, &fd, &mine), 0);
	f->p.page_size_hint = 8192;
	assert_true(producer_memory_adopt(&f->p, fd));
	close(fd);
	assert_int_equal(f->p.smb.n_pages, 16);
	assert_int_equal(f->p.smb_fd, -1);
	((uint8_t *)mine)[100] = 42;
	assert_int_equal(f->p.smb.base[100], 42);
	shm_unmap(mine, 128 << 10);
}

TEST_STATE(memory_of_wrong_geometry_is_not_taken, setup, teardown, struct fixture *f)
{
	static const struct {
		size_t size;
		uint32_t page;
	} bad[] = {{4096 * 3, 8192}, {8192, 12288}, {8192, 0},
		   {8192, 65536},    {4096, 8192},  {(32u << 20) + 4096, 4096}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		void *mine;
		int fd;

		assert_int_equal(shm_create(bad[i].size, &fd, &mine), 0);
		f->p.page_size_hint = bad[i].page;
		assert_false(producer_memory_adopt(&f->p, fd));
		assert_null(f->p.smb.base);
		shm_unmap(mine, bad[i].size);
		close(fd);
	}
}

TEST_STATE(memory_that_can_shrink_is_not_taken, setup, teardown, struct fixture *f)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), null;

	f->p.page_size_hint = 4096;
	assert_false(producer_memory_adopt(&f->p, fd)); /* empty */
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_false(producer_memory_adopt(&f->p, fd));
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	assert_false(producer_memory_adopt(&f->p, fd));
	fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
	assert_true(producer_memory_adopt(&f->p, fd));
	close(fd);
	producer_memory_deinit(&f->p);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_false(producer_memory_adopt(&f->p, null));
	close(null);
}

/* Over the socket: what InitializeConnection answers, and that no other memory is sent. */
TEST(offered_memory_is_used_for_sessions)
{
	struct rig r;
	struct peer *p, *c;
	struct pb_field f;
	struct pb_mem m;
	uint64_t stream;
	void *mine;
	int fd;

	rig_init(&r);
	p = rig_producer(&r);
	c = rig_consumer(&r);
	assert_int_equal(shm_create(64 << 10, &fd, &mine), 0);
	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_PAGE_SIZE_HINT_BYTES,
		   4096);
	pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_PROVIDED_SHMEM, true);
	assert_true(peer_accepted(
		p, peer_call_as(p, 1, P_INITIALIZE, false, m.buf, pb_mem_len(&m), fd)));
	pb_mem_deinit(&m);
	close(fd);
	assert_true(peer_field(
		p, PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER, &f));
	assert_int_equal(f.u64, 1);
	stream = peer_call(p, P_GET_ASYNC, NULL, 0);
	assert_true(peer_accepted(p, peer_register(p, "src", 0)));
	peer_enable(c, STAGE_CONFIG);
	assert_true(peer_command(p, stream, CMD(SETUP_TRACING), &f));
	assert_int_equal(f.len, 0);
	assert_int_equal(p->got_fd, -1);
	rig_hang_up(&r, p);
	rig_hang_up(&r, c);
	rig_deinit(&r);
	shm_unmap(mine, 64 << 10);
}

TEST(promised_memory_that_does_not_come_is_not_used)
{
	struct rig r;
	struct peer *p;
	struct pb_field f;

	rig_init(&r);
	p = rig_producer(&r);
	assert_true(peer_accepted(
		p, peer_call_number(p, P_INITIALIZE,
				    PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_PROVIDED_SHMEM, 1)));
	assert_true(peer_field(
		p, PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER, &f));
	assert_int_equal(f.u64, 0);
	rig_hang_up(&r, p);
	rig_deinit(&r);
}
