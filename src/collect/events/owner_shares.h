/*
 * Shares of a limited room, such as that for probes: when the whole machine is recorded, no user may
 * use up the room of others.
 *
 * A user gets at most as much as is left to others. Files of root and our own have no limit but the
 * room's. A user may have many user ids (subuid(5)), so users together may be limited, too.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_EVENTS_OWNER_SHARES_H
#define COLLECT_EVENTS_OWNER_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"

struct owner_share {
	uid_t owner;
	size_t amount;
};

struct owner_shares {
	size_t room;
	size_t room_of_users; /* part for all users but root and ourselves */
	bool is_shared;       /* several users compete; else nobody has a limit */
	size_t taken;
	size_t taken_by_users;
	ARRAY(struct owner_share) shares; /* users only */
};

void owner_shares_release(struct owner_shares *shares);

/* Take an amount for this owner. Returns 1, 0 (not enough is left), or -ENOMEM. */
_must_check_ int owner_shares_take(struct owner_shares *shares, uid_t owner, size_t amount);
/* Give back a part of it. */
void owner_shares_give_back(struct owner_shares *shares, uid_t owner, size_t amount);

#endif
