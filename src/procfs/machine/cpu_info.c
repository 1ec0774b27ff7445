/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/cpu_info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "base/text/span.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

/*
 * /proc/cpuinfo has a group of "key : value" lines for each processor, ended by an empty line. Keys
 * depend on the architecture; "processor" with the id is common to all supported ones. Old Arm
 * kernels state the model once for all, as "Processor", in a group of its own or in the first one.
 */

#define SYS_FILE_MAX 65536
#define UNKNOWN "unknown"
#define CPUS "devices/system/cpu"

struct khz_list {
	uint32_t *khz; /* owned */
	size_t n;
	size_t cap;
};

enum arm_key { ARM_IMPLEMENTER, ARM_ARCHITECTURE, ARM_VARIANT, ARM_PART, ARM_REVISION, ARM_KEYS };

static const char *const arm_keys[ARM_KEYS] = {
	[ARM_IMPLEMENTER] = "CPU implementer", [ARM_ARCHITECTURE] = "CPU architecture",
	[ARM_VARIANT] = "CPU variant",	       [ARM_PART] = "CPU part",
	[ARM_REVISION] = "CPU revision",
};

static const uint32_t arm_fields[ARM_KEYS] = {
	[ARM_IMPLEMENTER] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_IMPLEMENTER,
	[ARM_ARCHITECTURE] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_ARCHITECTURE,
	[ARM_VARIANT] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_VARIANT,
	[ARM_PART] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_PART,
	[ARM_REVISION] = PB_CPU_INFO_ARM_CPU_IDENTIFIER_REVISION,
};

enum x86_key { X86_FAMILY, X86_MODEL, X86_STEPPING, X86_MICROCODE, X86_KEYS };

static const struct {
	const char *key;
	uint32_t field;
} x86_keys[X86_KEYS] = {
	[X86_FAMILY] = {"cpu family", PB_CPU_INFO_X86_CPU_IDENTIFIER_FAMILY},
	[X86_MODEL] = {"model", PB_CPU_INFO_X86_CPU_IDENTIFIER_MODEL},
	[X86_STEPPING] = {"stepping", PB_CPU_INFO_X86_CPU_IDENTIFIER_STEPPING},
	[X86_MICROCODE] = {"microcode", PB_CPU_INFO_X86_CPU_IDENTIFIER_MICROCODE},
};

/* Bit N of CpuInfo.Cpu.features. */
static const char *const features[] = {"mte", "mte3"};

struct cpu {
	bool has_number;
	uint32_t number;
	struct span model;
	uint32_t arm[ARM_KEYS];
	uint8_t has_arm; /* bits by enum arm_key */
	uint64_t features;
	struct span words; /* all features by name; `features` has bits for some of them */
	struct span vendor;
	uint32_t x86[X86_KEYS];
	uint8_t has_x86; /* bits by enum x86_key */
};

static uint64_t parse_features(struct span words)
{
	struct span word;
	uint64_t bits = 0;

	while (span_next_word(&words, &word))
		for (unsigned i = 0; i < ARRAY_SIZE(features); i++)
			if (span_is(word, features[i]))
				bits |= 1ull << i;
	return bits;
}

static void cpu_info_parse_line(struct cpu *c, struct span key, struct span value)
{
	if (span_is(key, "processor"))
		c->has_number = span_number(value, &c->number);
	else if (span_is(key, "model name"))
		c->model = value;
	else if (span_is(key, "vendor_id"))
		c->vendor = value;
	else if (span_is(key, "Features") || span_is(key, "Flags") || span_is(key, "flags"))
		c->words = value;
	for (unsigned k = 0; k < ARM_KEYS; k++)
		if (span_is(key, arm_keys[k]) && span_number(value, &c->arm[k]))
			c->has_arm |= (uint8_t)(1u << k);
	for (unsigned k = 0; k < X86_KEYS; k++)
		if (span_is(key, x86_keys[k].key) && span_number(value, &c->x86[k]))
			c->has_x86 |= (uint8_t)(1u << k);
}

/* Parses the next group of lines. Returns false at the end of the text. */
static bool parse_next_cpu(struct span *text, struct cpu *ret)
{
	struct span line, key, value;
	bool any = false;

	*ret = (struct cpu){0};
	while (span_next_line(text, &line)) {
		if (span_trim(line).len == 0) {
			if (any)
				break;
			continue;
		}
		any = true;
		if (span_split(line, &key, &value))
			cpu_info_parse_line(ret, key, value);
	}
	ret->features = parse_features(ret->words);
	return any;
}

/* Returns the model stated once for all, or nothing. */
static struct span find_common_model(struct span text)
{
	struct span line, key, value;

	while (span_next_line(&text, &line))
		if (span_split(line, &key, &value) && span_is(key, "Processor"))
			return value;
	return (struct span){0};
}

/* Reads a file of a processor. Returns false if it does not exist, or on an error, which is
 * counted. */
static bool read_processor_file(struct cpu_info *info, const char *dir, const char *file,
				struct strbuf *text)
{
	char path[512];
	int r = fs_join(path, sizeof(path), dir, file);

	if (r == 0)
		r = fs_read_file(path, SYS_FILE_MAX, text);
	if (r == 0 || r == -ENOENT)
		return r == 0;
	if (info->unreadable++ == 0)
		info->error = r;
	return false;
}

/* Adds the number in the first word of each line, or those in all words. */
static void add_frequencies(struct khz_list *list, const struct strbuf *text, bool first_only)
{
	struct span rest = {text->s, text->len}, line, word;

	while (span_next_line(&rest, &line)) {
		while (span_next_word(&line, &word)) {
			if (array_reserve(&list->khz, &list->cap, list->n + 1, sizeof(*list->khz)) <
			    0)
				return;
			if (span_number(word, &list->khz[list->n]))
				list->n++;
			if (first_only)
				break;
		}
	}
}

static void cpu_info_add_frequency_file(struct cpu_info *info, struct khz_list *list,
					const char *dir, const char *file)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	if (read_processor_file(info, dir, file, &text))
		add_frequencies(list, &text, false);
}

/* Adds the frequencies of time_in_state, whose lines are "frequency ticks". */
static void add_time_in_state(struct cpu_info *info, struct khz_list *list, const char *dir)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	if (read_processor_file(info, dir, "cpufreq/stats/time_in_state", &text))
		add_frequencies(list, &text, true);
}

static int compare_frequencies(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Writes the frequencies (kHz) in ascending order without duplicates. Drivers that accept any
 * frequency of a range have no list. */
static void put_frequencies(struct cpu_info *info, struct pb_enc *e, const char *dir)
{
	struct khz_list list = {0};

	cpu_info_add_frequency_file(info, &list, dir, "cpufreq/scaling_available_frequencies");
	cpu_info_add_frequency_file(info, &list, dir, "cpufreq/scaling_boost_frequencies");
	if (list.n == 0)
		add_time_in_state(info, &list, dir);
	if (list.n == 0) {
		cpu_info_add_frequency_file(info, &list, dir, "cpufreq/cpuinfo_min_freq");
		cpu_info_add_frequency_file(info, &list, dir, "cpufreq/cpuinfo_max_freq");
	}
	if (list.n > 0)
		qsort(list.khz, list.n, sizeof(*list.khz), compare_frequencies);
	for (size_t i = 0; i < list.n; i++)
		if (i == 0 || list.khz[i] != list.khz[i - 1])
			pb_enc_u64(e, PB_CPU_INFO_CPU_FREQUENCIES, list.khz[i]);
	free(list.khz);
}

static void put_capacity(struct cpu_info *info, struct pb_enc *e, const char *dir)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct span words, word;
	uint32_t v;

	if (!read_processor_file(info, dir, "cpu_capacity", &text))
		return;
	words = (struct span){text.s, text.len};
	if (span_next_word(&words, &word) && span_number(word, &v))
		pb_enc_u64(e, PB_CPU_INFO_CPU_CAPACITY, v);
}

/* Writes the identifier if all its keys were read: an incomplete one may equal that of another
 * core. */
static void put_arm_identifier(struct pb_enc *e, const struct cpu *c)
{
	if (c->has_arm != (1u << ARM_KEYS) - 1)
		return;
	pb_enc_open(e, PB_CPU_INFO_CPU_ARM_IDENTIFIER);
	for (unsigned k = 0; k < ARM_KEYS; k++)
		pb_enc_u64(e, arm_fields[k], c->arm[k]);
	pb_enc_close(e);
}

static void put_x86_identifier(struct pb_enc *e, const struct cpu *c)
{
	if (c->vendor.len == 0 || !(c->has_x86 & 1u << X86_FAMILY))
		return;
	pb_enc_open(e, PB_CPU_INFO_CPU_X86_IDENTIFIER);
	pb_enc_bytes(e, PB_CPU_INFO_X86_CPU_IDENTIFIER_VENDOR, c->vendor.p, c->vendor.len);
	for (unsigned k = 0; k < X86_KEYS; k++)
		if (c->has_x86 & 1u << k)
			pb_enc_u64(e, x86_keys[k].field, c->x86[k]);
	pb_enc_close(e);
}

/* Skips words that equal those of the previous processor: with hundreds of processors they are most
 * of the message. */
static void put_changed_feature_words(struct cpu_info *info, struct pb_enc *e, struct span words)
{
	if (words.len == 0 ||
	    (words.len == info->words.len && memcmp(words.p, info->words.p, words.len) == 0))
		return;
	pb_enc_bytes(e, PB_CPU_INFO_CPU_FEATURE_WORDS, words.p, words.len);
	info->words = words;
}

/* Writes the next entry. c: NULL for an offline processor. */
static void put_cpu(struct cpu_info *info, struct pb_enc *e, const struct cpu *c)
{
	struct span model = c && c->model.len == 0 ? info->model : c ? c->model : (struct span){0};
	char dir[256];

	pb_enc_open(e, PB_CPU_INFO_CPUS);
	if (model.len > 0)
		pb_enc_bytes(e, PB_CPU_INFO_CPU_PROCESSOR, model.p, model.len);
	else
		pb_enc_str(e, PB_CPU_INFO_CPU_PROCESSOR, UNKNOWN);
	if (snprintf(dir, sizeof(dir), "%s/" CPUS "/cpu%u", info->sys_root, info->next) <
	    (int)sizeof(dir)) {
		put_frequencies(info, e, dir);
		put_capacity(info, e, dir);
	}
	if (c) {
		put_arm_identifier(e, c);
		if (c->features)
			pb_enc_u64(e, PB_CPU_INFO_CPU_FEATURES, c->features);
		put_changed_feature_words(info, e, c->words);
		put_x86_identifier(e, c);
	}
	pb_enc_close(e);
	info->next++;
}

/* Parses "0-3,8-11\n". Returns the highest id plus one, or 0. */
static uint32_t parse_cpu_list_end(struct span list)
{
	struct span line;
	uint32_t last;
	size_t from;

	if (!span_next_line(&list, &line))
		return 0;
	line = span_trim(line);
	for (from = line.len; from > 0; from--)
		if (line.p[from - 1] == '-' || line.p[from - 1] == ',')
			break;
	if (!span_number((struct span){line.p + from, line.len - from}, &last))
		return 0;
	return MIN(last, (uint32_t)CPU_INFO_MAX - 1) + 1;
}

void cpu_info_begin(struct cpu_info *info, const char *cpuinfo, size_t len, const char *sys_root)
{
	_cleanup_(strbuf_deinit) struct strbuf present = {0};
	struct span text = {cpuinfo, len};
	char dir[256];

	*info = (struct cpu_info){
		.text = text, .sys_root = sys_root, .model = find_common_model(text)};
	if (fs_join(dir, sizeof(dir), sys_root, CPUS) == 0 &&
	    read_processor_file(info, dir, "present", &present))
		info->end = parse_cpu_list_end((struct span){present.s, present.len});
}

bool cpu_info_write_next(struct cpu_info *info, struct pb_enc *e)
{
	struct span before = info->text;
	struct cpu c;

	if (!parse_next_cpu(&info->text, &c)) {
		if (info->next >= info->end)
			return false;
		put_cpu(info, e, NULL);
		return true;
	}
	if (!c.has_number || c.number < info->next || c.number >= CPU_INFO_MAX)
		return true;
	if (c.number > info->next) {
		info->text = before; /* parsed again: its entry comes later */
		put_cpu(info, e, NULL);
		return true;
	}
	put_cpu(info, e, &c);
	info->found++;
	return true;
}
