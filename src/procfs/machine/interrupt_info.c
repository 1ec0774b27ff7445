/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/interrupt_info.h"

#include "gen/fields.h"
#include "base/text/span.h"
#include "wire/pb_enc.h"

/*
 * A row of /proc/interrupts (kernel/irq/proc.c, show_interrupts):
 *
 *	 24:    1    0  IO-APIC   5-edge      ACPI:Ged
 *	 13:   88    7  GICv3     27 Level    arch_timer
 *	 48:    3    1  PCI-MSI-edge          nvme0q0, nvme0q1
 *	number  counts  chip      trigger     who
 *
 * The trigger is the first word that looks like one, together with a flow handler's name that may
 * stand behind it ("Level -fasteoi"); what follows is who handles it, blanks and all. Without a
 * trigger the last word has to do.
 */

static bool is_trigger(struct span word)
{
	return span_is(word, "Level") || span_is(word, "Edge") || span_ends(word, "-edge") ||
	       span_ends(word, "-level") || span_ends(word, "-fasteoi");
}

static struct span name_of(struct span row)
{
	struct span word, last = {row.p, 0}, rest;

	while (span_next_word(&row, &word)) {
		last = word;
		if (!is_trigger(word))
			continue;
		rest = row;
		while (span_next_word(&rest, &word) && word.p[0] == '-' && is_trigger(word))
			row = rest;
		return span_trim(row);
	}
	return last;
}

bool interrupt_info_step(struct span *text, struct pb_enc *e)
{
	struct span line, number, row;
	uint32_t irq;

	if (!span_next_line(text, &line))
		return false;
	if (!span_split(line, &number, &row) || !span_number(number, &irq))
		return true;
	row = name_of(row);
	pb_enc_open(e, PB_INTERRUPT_INFO_IRQ_MAPPING);
	pb_enc_u64(e, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_IRQ_ID, irq);
	pb_enc_bytes(e, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_NAME, row.p, row.len);
	pb_enc_close(e);
	return true;
}
