/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "unit/procfs/fake_producer.h"
#include "procfs/machine/system_info_source.c"

#define DATA "tests/data/procfs/"

static struct pb_mem mem;

SETUP
{
	assert_int_equal(pb_mem_init(&mem), 0);
}

TEARDOWN
{
	pb_mem_deinit(&mem);
}

static unsigned encode_file(const char *path)
{
	struct strbuf text = {0};
	struct span rows;

	assert_int_equal(fs_read_file(path, 1 << 20, &text), 0);
	pb_mem_reset(&mem);
	rows = (struct span){text.s, text.len};
	while (interrupt_info_step(&rows, &mem.enc))
		;
	strbuf_deinit(&text);
	return fake_count(mem.buf, pb_mem_len(&mem), PB_INTERRUPT_INFO_IRQ_MAPPING);
}

static void assert_row(unsigned i, uint32_t irq, const char *name)
{
	struct pb_field f = {0};

	assert_true(fake_field(mem.buf, pb_mem_len(&mem), PB_INTERRUPT_INFO_IRQ_MAPPING, i, &f));
	assert_int_equal(fake_u64(f, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_IRQ_ID), irq);
	assert_true(fake_str_is(f, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_NAME, 0, name));
}

FIXTURE_TEST(rows_of_a_pc)
{
	assert_int_equal(encode_file(DATA "interrupts.x86"), 19);
	assert_row(0, 24, "ACPI:Ged");
	assert_row(2, 26, "ttyS0");
	assert_row(3, 28, "virtio0-config");
	assert_row(7, 32, "virtio0-reporting_vq");
}

FIXTURE_TEST(rows_of_arm)
{
	assert_int_equal(encode_file(DATA "interrupts.arm64"), 5);
	assert_row(0, 11, "arch_timer");
	assert_row(1, 13, "kvm guest vcpu timer");
	assert_row(2, 14, "ACPI:Ged, virtio0");
	assert_row(3, 20, "power key");
	assert_row(4, 21, "");
}

FIXTURE_TEST(rows_of_old_kernels)
{
	assert_int_equal(encode_file(DATA "interrupts.old"), 6);
	assert_row(0, 0, "timer");
	assert_row(1, 2, "cascade");
	assert_row(2, 9, "acpi");
	assert_row(3, 24, "nvme0q0, ahci-edge");
	assert_row(4, 25, "");
	assert_row(5, 26, "last without newline");
}

FIXTURE_TEST(nothing)
{
	assert_false(interrupt_info_step(&(struct span){0}, &mem.enc));
	assert_int_equal(pb_mem_len(&mem), 0);
}
