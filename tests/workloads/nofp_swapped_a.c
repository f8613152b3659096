#define LEAF  leaf_a
#define FRAME 8
#define PLACE 0
#include "nofp_swapped.h"
