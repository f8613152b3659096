/* By the table of the other library, the decoy is the return address of entry(). */
#define LEAF  leaf_b
#define FRAME 24
#define PLACE 8
#include "nofp_swapped.h"
