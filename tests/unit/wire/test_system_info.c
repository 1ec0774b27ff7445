/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/utsname.h>

#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"
#include "wire/system_info.h"

static struct pb_field find(const uint8_t *data, size_t len, uint32_t id)
{
	struct pb_field f, found = {0};
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == id)
			found = f;
	assert_true(pb_dec_ok(&d));
	return found;
}

TEST(it_is_what_the_kernel_says)
{
	struct pb_field f, uts;
	struct utsname u;
	struct pb_mem m;

	assert_int_equal(uname(&u), 0);
	assert_int_equal(pb_mem_init(&m), 0);
	system_info_put(&m.enc);
	uts = find(m.buf, pb_mem_len(&m), PB_SYSTEM_INFO_UTSNAME);
	f = find(uts.data, uts.len, PB_UTSNAME_RELEASE);
	assert_int_equal(f.len, strlen(u.release));
	assert_memory_equal(f.data, u.release, f.len);
	assert_int_equal(find(m.buf, pb_mem_len(&m), PB_SYSTEM_INFO_PAGE_SIZE).u64,
			 sysconf(_SC_PAGESIZE));
	assert_int_equal(find(m.buf, pb_mem_len(&m), PB_SYSTEM_INFO_NUM_CPUS).u64,
			 sysconf(_SC_NPROCESSORS_CONF));
	assert_true(find(m.buf, pb_mem_len(&m), PB_SYSTEM_INFO_SYSTEM_RAM_BYTES).u64 > 1 << 20);
	pb_mem_deinit(&m);
}
