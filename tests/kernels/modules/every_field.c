/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A kernel module that writes records of its own, with what is known by heart:
 *
 *	echo 0 >/sys/module/every_field/parameters/emit     the least of each type
 *	echo 1 >...                                         the greatest
 *	echo N >...                                         N in each; N elements in lists, up to 8
 *
 * events sonda_test/numbers, areas and masks (every_field_events.h), and a trace_printk with
 * arguments and one without.
 */
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/version.h>

enum mode { MODE_SLOW, MODE_FAST };

struct numbers {
	s8 s8;
	u8 u8;
	s16 s16;
	u16 u16;
	s32 s32;
	u32 u32;
	s64 s64;
	u64 u64;
	long slong;
	unsigned long ulong;
	bool yes;
	char letter;
	enum mode mode;
	unsigned int flags;
	const void *pointer;
	void *function;
	unsigned long ip;
};

struct pair {
	u16 a, b;
};

struct areas {
	u8 uuid[16];
	const char *text;
	unsigned int n;
	u64 quads[8];
	unsigned long bits[2];
	struct pair pair;
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define HAS_CPUMASKS
#endif

#define CREATE_TRACE_POINTS
#include "every_field_events.h"

static void limits_of(struct numbers *n, bool greatest)
{
	*n = (struct numbers){
		.s8 = greatest ? S8_MAX : S8_MIN,
		.u8 = greatest ? U8_MAX : 0,
		.s16 = greatest ? S16_MAX : S16_MIN,
		.u16 = greatest ? U16_MAX : 0,
		.s32 = greatest ? S32_MAX : S32_MIN,
		.u32 = greatest ? U32_MAX : 0,
		.s64 = greatest ? S64_MAX : S64_MIN,
		.u64 = greatest ? U64_MAX : 0,
		.slong = greatest ? LONG_MAX : LONG_MIN,
		.ulong = greatest ? ULONG_MAX : 0,
		.yes = greatest,
		.letter = greatest ? 'z' : 'A',
		.mode = greatest ? MODE_FAST : MODE_SLOW,
		.flags = greatest ? 3 : 0,
		.pointer = greatest ? (void *)n : NULL,
	};
}

static void numbers_of(struct numbers *n, unsigned int value)
{
	*n = (struct numbers){
		.s8 = -(s8)value,
		.u8 = value,
		.s16 = -(s16)value,
		.u16 = value,
		.s32 = -(s32)value,
		.u32 = value,
		.s64 = -(s64)value,
		.u64 = value,
		.slong = -(long)value,
		.ulong = value,
		.yes = true,
		.letter = 'x',
		.mode = MODE_FAST,
		.flags = 2,
		.pointer = n,
	};
}

static int emit(const char *text, const struct kernel_param *param)
{
	struct numbers n;
	struct areas a = {.text = "some text"};
	unsigned int value;
	int r = kstrtouint(text, 10, &value);

	if (r)
		return r;
	if (value < 2)
		limits_of(&n, value);
	else
		numbers_of(&n, value);
	n.function = (void *)kstrtouint; /* of the kernel */
	n.ip = (unsigned long)emit; /* of the module */
	trace_numbers(&n);

	a.n = value < 8 ? value : 8;
	for (unsigned int i = 0; i < 16; i++)
		a.uuid[i] = 0x10 + i;
	for (unsigned int i = 0; i < 8; i++)
		a.quads[i] = 0x0102030405060708 + i;
	a.bits[0] = 5;
	a.bits[1] = 1;
	a.pair = (struct pair){.a = 0x1122, .b = 0x3344};
	trace_areas(&a);
#ifdef HAS_CPUMASKS
	trace_masks(cpumask_of(value % 2));
#endif

	trace_printk("emit %u of %s at %ps, %#llx\n", value, "every_field", n.function, n.u64);
	trace_printk("emit is over\n");
	return 0;
}

static const struct kernel_param_ops ops = {.set = emit};
module_param_cb(emit, &ops, NULL, 0200);

static int __init begin(void)
{
	return 0;
}

static void __exit end(void)
{
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("records of every kind of field, for the tests of sonda");
