/* SPDX-License-Identifier: MIT */
/**
 * DOC: times of a trace as times of its fabric.
 *
 * The recorder takes times from CLOCK_MONOTONIC. Captures and the journal have the fabric's time,
 * which may run slower or faster. `rdmaemu record` asks the fabric for a moment of both, and for
 * the clock's rate: the line fabric-clock of a program's file. A trace of real devices, of a clock
 * that is moved by hand, or of an older recorder has none.
 */
#include "fabric/cli/trace/fabric_time.h"
#include "fabric/cli/trace/trace.h"

#include <inttypes.h>
#include <stdio.h>

/* Real time of a machine that has been up for that long is none, ns. */
#define FABRIC_TIME_MAX (1ULL << 62)

bool trace_fabric_time_read(const struct vt_program *p, struct hca_clock *c)
{
	const char *text = vt_info_get(&p->about, "fabric-clock");
	u64 real, fabric;
	u32 ppm;
	char rest;

	if (!text ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu32 "%c", &real, &fabric, &ppm, &rest) != 3)
		return false;
	if (real > FABRIC_TIME_MAX || fabric > FABRIC_TIME_MAX || ppm < CLOCK_PPM_MIN ||
	    ppm > CLOCK_PPM_MAX)
		return false;
	*c = (struct hca_clock){ .own = 1, .real = real, .fabric = fabric, .ppm = ppm };
	return true;
}

bool trace_has_fabric_time(const struct vt_dir *d)
{
	struct hca_clock c;
	u32 i;

	for (i = 0; i < d->n_progs; i++)
		if (!trace_fabric_time_read(&d->prog[i], &c))
			return false;
	return d->n_progs > 0;
}
