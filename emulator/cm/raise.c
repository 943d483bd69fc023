/* SPDX-License-Identifier: MIT */
/** DOC: events of connection management that fault rules raise: see input.h. */
#include "emulator/cm/input.h"
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/engine.h"

bool raise_cm(struct engine *e, struct hca_cmid *id, u32 event)
{
	switch (event) {
	case CM_EV_DEVICE_REMOVAL:
	case CM_EV_ADDR_CHANGE:
		if (!id->bound || id->state == CM_DESTROYING)
			return false;
		cm_event_raise_status(e, id, id->state, id->proto, event, 0);
		return true;
	case CM_EV_UNREACHABLE:
	case CM_EV_TIMEWAIT_EXIT:
		return cm_timer_expire(e, id, event);
	default:
		return false;
	}
}
