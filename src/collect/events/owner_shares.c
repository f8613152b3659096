#include "collect/events/owner_shares.h"

#include <errno.h>

#include "base/file.h"

void owner_shares_release(struct owner_shares *shares)
{
	array_release(&shares->shares);
}

/* NULL when out of memory. */
static struct owner_share *find_share(struct owner_shares *shares, uid_t owner)
{
	struct owner_share *added;

	array_for_each (&shares->shares, share)
		if (share->owner == owner)
			return share;
	added = array_add(&shares->shares);
	if (added)
		added->owner = owner;
	return added;
}

int owner_shares_take(struct owner_shares *shares, uid_t owner, size_t amount)
{
	size_t left = shares->room - shares->taken;

	if (amount > left)
		return 0;
	if (shares->is_shared && !file_owner_is_trusted(owner)) {
		size_t left_to_users = shares->room_of_users - shares->taken_by_users;
		struct owner_share *share = find_share(shares, owner);

		if (!share)
			return -ENOMEM;
		if (left_to_users < left)
			left = left_to_users;
		if (share->amount + amount > left)
			return 0;
		share->amount += amount;
		shares->taken_by_users += amount;
	}
	shares->taken += amount;
	return 1;
}

void owner_shares_give_back(struct owner_shares *shares, uid_t owner, size_t amount)
{
	shares->taken -= amount;
	if (!shares->is_shared || file_owner_is_trusted(owner))
		return;
	shares->taken_by_users -= amount;
	find_share(shares, owner)->amount -= amount;
}
